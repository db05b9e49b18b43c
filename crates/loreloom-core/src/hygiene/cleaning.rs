//! The texts of a turn are cleaned before they are placed.

use super::{HazardCount, Hygiene, PromptTarget, cleaned, hazards};
use crate::{
    engine::Decision,
    library::Library,
    place::{Injection, Provenance},
    report::{Outcome, Warning},
    room,
    rules::Rules,
    tokens::TokenCounter,
    turn::TurnInput,
    units::Tokens,
};

/// What is needed to clean the texts of a turn.
#[derive(Clone, Copy)]
pub struct Cleaning<'turn> {
    /// The rules of the turn.
    pub rules: &'turn Rules,
    /// The lore that the turn was decided with.
    pub library: &'turn Library,
    /// The input of the turn: it says what kind of prompt the texts go into.
    pub input: &'turn TurnInput,
    /// What counts tokens.
    pub counter: &'turn dyn TokenCounter,
}

impl Cleaning<'_> {
    /// Cleans all texts of a decision. Their tokens, verdicts and budgets follow, and the report
    /// says what was found.
    pub fn clean(&self, decision: &mut Decision) {
        if self.rules.hygiene == Hygiene::Keep {
            return;
        }
        let target = PromptTarget::of(self.input);
        let mut injections = std::mem::take(&mut decision.injections);
        for injection in &mut injections {
            let found = hazards(&injection.text, target);
            if found.is_empty() {
                continue;
            }
            let found = HazardCount::of(&injection.text, &found);
            let by = self.replace(injection, target, decision);
            let source = injection.source.clone();
            decision.report.warnings.push(Warning::Neutralised { source, by, found });
        }
        decision.injections = injections;
    }

    /// Replaces a text. An escaped text may be longer; where its budget has no room for that, the
    /// dangerous pieces are removed instead.
    fn replace(
        &self,
        injection: &mut Injection,
        target: PromptTarget,
        decision: &mut Decision,
    ) -> Hygiene {
        let pool = room::pool_of(&injection.source, self.library);
        let pool = decision.report.budgets.iter_mut().find(|one| Some(one.pool.as_str()) == pool);
        let before = injection.tokens;
        let text_by = |hygiene| {
            let text = cleaned(&injection.text, hygiene, target).unwrap_or_default();
            (self.counter.count(&text), text)
        };
        let mut by = self.rules.hygiene;
        let (mut tokens, mut text) = text_by(by);
        if let Some(pool) = pool {
            let fits = |tokens| recounted(pool.used, before, tokens) <= pool.limit.max(pool.used);
            if by == Hygiene::Escape && !fits(tokens) {
                by = Hygiene::Strip;
                (tokens, text) = text_by(by);
            }
            pool.used = recounted(pool.used, before, tokens);
        }
        if let Provenance::Lore { entry, .. } = &injection.source {
            let mut verdicts = decision.report.verdicts.iter_mut();
            let verdict = verdicts.find(|verdict| verdict.entry == *entry);
            if let Some(Outcome::Activated { tokens: counted, .. }) =
                verdict.map(|verdict| &mut verdict.outcome)
            {
                *counted = recounted(*counted, before, tokens);
            }
        }
        (injection.text, injection.tokens) = (text, tokens);
        by
    }
}

/// A sum in which one part changed.
fn recounted(sum: Tokens, before: Tokens, now: Tokens) -> Tokens {
    sum.saturating_add(now).checked_sub(before).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        book::{Book, Entry},
        chat::{GenerationType, Path, Role},
        dialects::worldinfo::WorldInfoRules,
        ids::ChatId,
        place::Place,
        report::{BudgetUse, Report, TurnFacts},
        state::StateDelta,
        tokens::ByteEstimate,
    };

    const TEXT: &str = "</s></s></s></s></s></s>bell";

    /// The cleaned text, how, and what the pool used, with a budget of so many tokens.
    fn cleaned_within(limit: u32) -> (String, Hygiene, Tokens) {
        let mut book = Book::new("b", "B");
        book.entries.push(Entry::new("b/0"));
        let library = Library::compile([Arc::new(book)], &WorldInfoRules::default());
        let path = Path::new(ChatId::from("c"));
        let mut report = Report::undecided(TurnFacts::undecided(&path, GenerationType::Normal));
        let tokens = ByteEstimate.count(TEXT);
        let pool = "world_info".to_owned();
        report.budgets =
            vec![BudgetUse { pool, limit: Tokens(limit), used: tokens, overflowed: false }];
        let injection = Injection {
            place: Place::AfterCharacter,
            role: Role::System,
            text: TEXT.to_owned(),
            tokens,
            source: Provenance::Lore { book: "b".into(), entry: "b/0".into() },
        };
        let mut decision = Decision {
            injections: vec![injection],
            hide_prompts: Vec::new(),
            delta: StateDelta::default(),
            report,
        };
        let (rules, input) = (Rules::default(), TurnInput::default());
        let cleaning =
            Cleaning { rules: &rules, library: &library, input: &input, counter: &ByteEstimate };
        cleaning.clean(&mut decision);
        let [Warning::Neutralised { by, .. }] = &*decision.report.warnings else { panic!() };
        let by = *by;
        cleaning.clean(&mut decision);
        assert_eq!(decision.report.warnings.len(), 1, "a second time finds nothing");
        let [one] = &*decision.injections else { panic!() };
        assert_eq!(one.tokens, ByteEstimate.count(&one.text));
        (one.text.clone(), by, decision.report.budgets[0].used)
    }

    #[test]
    fn a_budget_without_room_for_escapes_loses_the_tokens_instead() {
        let escaped = TEXT.replace("</s>", "< /s>");
        let tokens = ByteEstimate.count(&escaped);
        assert!(tokens > ByteEstimate.count(TEXT));
        assert_eq!(cleaned_within(tokens.0), (escaped, Hygiene::Escape, tokens));
        let stripped = ("bell".to_owned(), Hygiene::Strip, ByteEstimate.count("bell"));
        assert_eq!(cleaned_within(tokens.0 - 1), stripped);
    }
}
