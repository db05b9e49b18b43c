//! Texts that two books have: one of them is enough.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{Decision, EngineInput};
use crate::{
    ids::{BookId, EntryId},
    library::{EntryIx, Library},
    place::{Injection, Provenance},
    report::Stop,
    room::take_out,
};

/// What happens to a text that entries of two books have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SameText {
    /// It goes into the prompt once; the verdict of the other entry says so.
    #[default]
    Once,
    /// It goes into the prompt twice.
    Twice,
}

impl SameText {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The texts that the dialects of a turn have taken so far. A copy in another book is left out
/// before it costs any budget.
#[derive(Debug)]
pub(crate) struct TakenTexts {
    /// Each text with the first entry that has it; `None` if copies are not looked for.
    first: Option<FxHashMap<String, (BookId, EntryId)>>,
}

impl TakenTexts {
    /// No texts yet. Copies need two books.
    pub(crate) fn new(input: &EngineInput<'_>) -> Self {
        let looks = input.rules.same_text == SameText::Once && input.library.books().len() > 1;
        Self { first: looks.then(FxHashMap::default) }
    }

    /// Whether an entry of another book has taken the text of this entry.
    pub(crate) fn check(&self, library: &Library, ix: EntryIx, text: &str) -> Result<(), Stop> {
        match self.copied(&library.book(ix).id, text) {
            Some(of) => Err(Stop::Copied { of: of.clone() }),
            None => Ok(()),
        }
    }

    /// Remembers the text of an entry.
    pub(crate) fn take(&mut self, library: &Library, ix: EntryIx, text: &str) {
        self.add(&library.book(ix).id, &library.entry(ix).id, text);
    }

    /// Remembers the texts that a dialect puts into the prompt.
    pub(crate) fn take_injections(&mut self, injections: &[Injection]) {
        for Injection { text, source, .. } in injections {
            if let Provenance::Lore { book, entry } = source {
                self.add(book, entry, text);
            }
        }
    }

    /// The first entry of another book with the same text.
    fn copied(&self, book: &BookId, text: &str) -> Option<&EntryId> {
        let (other, of) = self.first.as_ref()?.get(text.trim())?;
        (other != book).then_some(of)
    }

    fn add(&mut self, book: &BookId, entry: &EntryId, text: &str) {
        let text = text.trim();
        if let Some(first) = self.first.as_mut().filter(|first| !first.contains_key(text))
            && !text.is_empty()
        {
            first.insert(text.to_owned(), (book.clone(), entry.clone()));
        }
    }
}

/// Takes out texts that an entry of another book has put in before.
pub(super) fn drop_repeats(decision: &mut Decision, library: &Library) {
    let mut taken = TakenTexts { first: Some(FxHashMap::default()) };
    let mut repeats: Vec<(EntryId, EntryId)> = Vec::new();
    decision.injections.retain(|Injection { text, source, .. }| {
        let Provenance::Lore { book, entry } = source else { return true };
        let Some(of) = taken.copied(book, text).cloned() else {
            taken.add(book, entry, text);
            return true;
        };
        repeats.push((entry.clone(), of));
        false
    });
    for (entry, of) in repeats {
        if let Some((pool, tokens)) = take_out(decision, &entry, library, |_| Stop::Copied { of }) {
            let mut pools = decision.report.budgets.iter_mut();
            if let Some(pool) = pools.find(|one| one.pool == pool) {
                pool.used = pool.used.checked_sub(tokens).unwrap_or_default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{
        book::{Book, Entry, Key},
        chat::{Message, Role},
        library::{Dialect, LibrarySource, Volume},
        report::Verdict,
        rules::Rules,
        story::Engine,
        units::Tokens,
    };

    fn volume(id: &str, content: &str, dialect: Dialect) -> Volume {
        let mut entry = Entry::new(format!("{id}/0").as_str());
        entry.activation.keys = vec![Key::parse("bell")];
        entry.content = content.to_owned();
        let mut book = Book::new(id, id);
        book.entries = vec![entry];
        Volume { book: Arc::new(book), dialect }
    }

    #[test]
    fn a_copy_costs_no_budget() {
        let long = "The old bell rings. ".repeat(20);
        let (world_info, kobold) = (Dialect::WorldInfo, Dialect::Kobold);
        // With a copy, the texts of a pool would not fit.
        for (dialects, context) in
            [([world_info; 3], 500), ([kobold; 3], 500), ([world_info, kobold, kobold], 360)]
        {
            let volumes = vec![
                volume("a", &long, dialects[0]),
                volume("b", &long, dialects[1]),
                volume("c", &"The bell is cracked. ".repeat(20), dialects[2]),
            ];
            let mut rules = Rules::default();
            rules.world_info.budget_percent = 50.0;
            let source = LibrarySource { volumes, notes: Vec::new(), rules };
            let engine = Engine::from_source(&source);
            let mut story = engine.story("chat").with_context(Tokens(context));
            story.say(Message::new(Role::User, None, "Ring the bell."));
            let turn = story.weave();
            let code = |entry: &str| {
                let verdicts = turn.decision().report.verdicts.iter();
                verdicts.filter(|one| one.entry.as_str() == entry).map(Verdict::code).next()
            };
            let codes = [code("a/0"), code("b/0"), code("c/0")];
            let expected = [Some("activated"), Some("copied"), Some("activated")];
            assert_eq!(codes, expected, "{dialects:?}");
        }
    }
}
