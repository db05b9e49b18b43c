//! The slots about people: relationships, knowledge, state cards.

use loreloom_core::{ids::MessageId, tokens::TokenCounter, units::Tokens};

use super::{
    Labels, SlotsInput,
    fit::{GivesWay, SlotBlock, below, fit_lines},
};
use crate::{
    presence::narrated,
    record::{
        Descriptor, Insight, InsightKind, Ledger, Magnitude, Pair, Relationships, StateCard,
        StateKind,
    },
    text::{TextRules, contains_word},
    tiers::relationships::describe,
};

/// Relationships of people in recent messages or in the group. Lines are added until the next does
/// not fit; each is counted with its line end.
pub(super) fn relationships(
    known: &Relationships,
    recent: &[&str],
    input: &SlotsInput<'_>,
) -> Option<SlotBlock> {
    let (counter, loose) = (input.counter, !input.rules.text.is_tolerant());
    let occurs = |text: &str, name: &str| {
        contains_word(text, name) || loose && text.to_lowercase().contains(&name.to_lowercase())
    };
    let is_present = |name: &str| {
        recent.iter().any(|text| occurs(text, name))
            || input.group.iter().any(|member| member.to_lowercase() == name.to_lowercase())
    };
    let lines: Vec<String> = known
        .iter()
        .filter(|(_, relationship)| loose || !relationship.descriptors.is_empty())
        .filter(|(key, _)| {
            Pair::of_key(key)
                .is_some_and(|pair| is_present(pair.subject) || is_present(pair.target))
        })
        .map(|(key, relationship)| match input.rules.text {
            TextRules::Tolerant => format!("{key}: {}", in_words(&relationship.descriptors)),
            TextRules::Literal => format!("{key}: {}", describe(&relationship.descriptors)),
        })
        .collect();
    let budget = input.settings.budgets.relationships;
    let label = &input.labels.relationships;
    let mut left = Some(below(label, budget, input.rules.text, counter));
    let fits = |line: &&String| {
        let cost = counter.count(&format!("{line}\n"));
        left = left.and_then(|left| left.checked_sub(cost));
        left.is_some()
    };
    let kept: Vec<&str> = lines.iter().take_while(fits).map(String::as_str).collect();
    SlotBlock::labelled(label, &kept.join("\n"), &lines.join("\n"), counter)
}

/// The insights with one line in place of all that the character does not know: the line would
/// tell it.
fn without_unaware(input: &SlotsInput<'_>) -> Vec<Insight> {
    let mut insights = input.character.epistemic_knowledge.clone();
    let responding = input.responding.to_lowercase();
    let mut is_first = true;
    insights.retain_mut(|insight| {
        let is_own = insight.subject.to_lowercase() == responding;
        if insight.kind != InsightKind::Unaware || !is_own || !insight.holds() {
            return true;
        }
        let words = &input.labels.unaware_of_shown;
        insight.content = words.replace("{name}", input.responding);
        std::mem::take(&mut is_first)
    });
    insights
}

/// Feelings as words: `very fond, slightly wary`.
fn in_words(descriptors: &[Descriptor]) -> String {
    let word = |feeling: &Descriptor| match feeling.magnitude {
        Magnitude::Low => format!("slightly {}", feeling.word),
        Magnitude::Medium => feeling.word.clone(),
        Magnitude::High => format!("very {}", feeling.word),
    };
    descriptors.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// What the character that replies knows. A narrator gets what each of its characters knows.
pub(super) fn knowledge(input: &SlotsInput<'_>, budget: Tokens) -> Option<SlotBlock> {
    let of = |responding| Knowledge {
        insights: &input.character.epistemic_knowledge,
        responding,
        tells_unaware: input.settings.epistemic_inject_unaware,
        labels: input.labels,
    };
    let mut played = match input.rules.text {
        TextRules::Tolerant => narrated(input.path, input.responding),
        TextRules::Literal => Vec::new(),
    };
    if played.is_empty() {
        let shown = input.rules.keeps_secrets.then(|| without_unaware(input));
        let insights = shown.as_deref().unwrap_or(&input.character.epistemic_knowledge);
        return Knowledge { insights, ..of(input.responding) }.within(budget, input.counter);
    }
    // Headings of its own can make a card look like a narrator.
    played.insert(0, input.responding);
    let full: Vec<String> = played.iter().map(|name| of(name).text()).collect();
    let full: Vec<&str> = full.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    let mut text = String::new();
    for name in played {
        let used = input.counter.count(&text).saturating_add(Tokens(1));
        let left = budget.checked_sub(used).unwrap_or_default();
        if let Some(block) = of(name).within(left, input.counter) {
            let gap = if text.is_empty() { "" } else { "\n\n" };
            text = format!("{text}{gap}{}", block.text);
        }
    }
    SlotBlock::plain(&text, &full.join("\n\n"), input.counter)
}

/// What one character knows, suspects, misses, wrongly believes and hides, and nothing that only
/// others know.
#[derive(Clone, Copy, Debug)]
pub struct Knowledge<'a> {
    /// What is known of all characters.
    pub insights: &'a [Insight],
    /// The character.
    pub responding: &'a str,
    /// Whether things the character is unaware of are named.
    pub tells_unaware: bool,
    /// The headings.
    pub labels: &'a Labels,
}

/// A line of knowledge under the heading of its section.
struct KnowledgeLine<'labels> {
    section: &'labels str,
    text: String,
}

impl<'a> Knowledge<'a> {
    /// All of it; empty if there is nothing.
    pub fn text(&self) -> String {
        self.render(&self.lines())
    }

    /// As much as fits a budget. Headings count, the last lines are dropped first, and no heading
    /// stays without a line.
    pub(super) fn within(&self, budget: Tokens, counter: &dyn TokenCounter) -> Option<SlotBlock> {
        let all = self.lines();
        let mut lines = all.as_slice();
        while !lines.is_empty() && counter.count(&self.render(lines)) > budget {
            lines = &lines[..lines.len() - 1];
        }
        SlotBlock::plain(&self.render(lines), &self.render(&all), counter)
    }

    fn lines(&self) -> Vec<KnowledgeLine<'a>> {
        let (labels, responding) = (self.labels, self.responding.to_lowercase());
        let own: Vec<&Insight> = self
            .insights
            .iter()
            .filter(|insight| insight.holds())
            .filter(|insight| insight.subject.to_lowercase() == responding)
            .collect();
        [
            (InsightKind::Knows, &labels.knows),
            (InsightKind::Suspects, &labels.suspects),
            (InsightKind::Unaware, &labels.unaware),
            (InsightKind::Believes, &labels.believes),
            (InsightKind::Hiding, &labels.hiding),
        ]
        .into_iter()
        .filter(|(kind, _)| *kind != InsightKind::Unaware || self.tells_unaware)
        .flat_map(|(kind, section)| {
            let of_kind = own.iter().filter(move |insight| insight.kind == kind);
            of_kind.map(move |insight| KnowledgeLine {
                section: section.as_str(),
                text: match (&insight.target, kind) {
                    (Some(target), InsightKind::Hiding) => {
                        format!("- {} {target}: {}", labels.hidden_from, insight.content)
                    }
                    _ => format!("- {}", insight.content),
                },
            })
        })
        .collect()
    }

    fn render(&self, lines: &[KnowledgeLine<'_>]) -> String {
        if lines.is_empty() {
            return String::new();
        }
        let mut text = self.labels.epistemic.replace("{name}", self.responding);
        let mut section = "";
        for line in lines {
            if line.section != section {
                section = line.section;
                text.push('\n');
                text.push_str(section);
            }
            text.push('\n');
            text.push_str(&line.text);
        }
        text
    }
}

/// State cards by kind, without expired values. The last lines are dropped first.
pub(super) fn ledger(
    ledger: &Ledger,
    input: &SlotsInput<'_>,
    budget: Tokens,
    counter: &dyn TokenCounter,
) -> Option<SlotBlock> {
    let lasts = &input.settings.state_ledger_expiry;
    let age = |id: &MessageId| input.path.iter().rev().position(|item| item.id == *id);
    let of_kind = |kind: StateKind| {
        ledger.iter().filter_map(move |(key, card)| {
            let (name, stored) = key.rsplit_once('|')?;
            let believed = |field: &str| card.believed(field, age, lasts);
            let line = match input.rules.text {
                TextRules::Tolerant => labelled_card(name, kind, card, believed),
                TextRules::Literal => card_line(name, kind, card, believed),
            };
            line.filter(|_| stored == kind.as_str())
        })
    };
    let lines: Vec<String> = StateKind::ALL.into_iter().flat_map(of_kind).collect();
    let render = |lines: &[String]| lines.join("\n");
    if input.rules.text.is_tolerant() {
        let fits = |count: &usize| counter.count(&render(&lines[..*count])) <= budget;
        let kept = (1..=lines.len()).rev().find(fits).unwrap_or(0);
        return SlotBlock::plain(&render(&lines[..kept]), &render(&lines), counter);
    }
    let mut body = fit_lines(&lines, budget, GivesWay::Last, counter, render);
    // A single card is not cut in the middle of a value.
    if let [first, ..] = lines.as_slice()
        && body.len() < first.len()
    {
        body.clone_from(first);
    }
    SlotBlock::plain(&body, &render(&lines), counter)
}

/// A card with the name of each field: `Mara: location quay; injuries a cut`.
fn labelled_card<'card>(
    name: &str,
    kind: StateKind,
    card: &StateCard,
    believed: impl Fn(&str) -> Option<&'card str>,
) -> Option<String> {
    let value = |field: &&str| {
        let value = believed(field)?.trim();
        (!value.is_empty()).then(|| format!("{} {value}", field.replace('_', " ")))
    };
    let values: Vec<String> = kind.fields().iter().filter_map(value).collect();
    let name = card.name.as_deref().unwrap_or(name);
    (!values.is_empty()).then(|| format!("{name}: {}", values.join("; ")))
}

fn card_line<'card>(
    name: &str,
    kind: StateKind,
    card: &StateCard,
    believed: impl Fn(&str) -> Option<&'card str>,
) -> Option<String> {
    let values: Vec<&str> = kind.fields().iter().filter_map(|field| believed(field)).collect();
    let name = card.name.as_deref().unwrap_or(name);
    (!values.is_empty()).then(|| format!("{name} [{}]: {}", kind.as_str(), values.join(" | ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::QuarterEstimate;

    fn insight(kind: InsightKind, subject: &str, content: &str) -> Insight {
        Insight {
            id: String::new(),
            kind,
            subject: subject.into(),
            target: None,
            content: content.into(),
            ts: None,
            source_messages: None,
            receipts: vec![],
            retired: None,
            ungrounded: vec![],
        }
    }

    #[test]
    fn no_knowledge_of_anybody_else_or_of_the_past_is_told() {
        let mut old = insight(InsightKind::Knows, "Lis", "an old secret");
        old.retired = Some(1);
        let all = [
            insight(InsightKind::Knows, "Mara", "a secret of Mara"),
            old,
            insight(InsightKind::Believes, "LIS", "nobody saw her"),
        ];
        let labels = Labels::default();
        let of = |responding| Knowledge {
            insights: &all,
            responding,
            tells_unaware: true,
            labels: &labels,
        };
        assert_eq!(of("Lis").text(), "What Lis knows and believes:\nBelieves:\n- nobody saw her");
        assert_eq!(of("Odo").text(), "");
    }

    #[test]
    fn a_heading_never_stays_without_a_line() {
        let all = [
            insight(InsightKind::Knows, "Lis", "the vault is empty"),
            insight(InsightKind::Unaware, "Lis", "Mara has a spare key"),
        ];
        let labels = Labels::default();
        let known =
            Knowledge { insights: &all, responding: "Lis", tells_unaware: true, labels: &labels };
        for budget in 0..30 {
            let block = known.within(Tokens(budget), &QuarterEstimate);
            let text = block.map(|block| block.text).unwrap_or_default();
            assert!(text.is_empty() || !text.ends_with(':'), "{budget}: {text}");
            assert!(QuarterEstimate.count(&text).0 <= budget);
        }
    }
}
