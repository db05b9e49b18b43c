//! State cards: where people and things are, and in what state.

use std::sync::LazyLock;

use regex::Regex;

use super::{Config, GUARD, PassSource, part, prompt};
use crate::{
    cast::StoryCast,
    pass::{ModelQuestion, Need, Purpose, Script},
    record::{Entity, Ledger, StateKind},
    reply::plain_lines,
    rules::Rules,
    text::{pattern, reply_lines},
};

static CARD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?im)\[state:\s*([^\]]+):([^:\]]+)\]\s*(.*)$"));

/// Values that mean "unknown".
const PLACEHOLDERS: &[&str] = &[
    "",
    "unknown",
    "none",
    "none mentioned",
    "not mentioned",
    "not specified",
    "not applicable",
    "n/a",
    "na",
    "unspecified",
];

/// Asks for the state of these entities, given as name and kind.
pub fn prompt_for(source: &PassSource<'_>, tracked: &[(&str, StateKind)]) -> ModelQuestion {
    let entities: Vec<String> =
        tracked.iter().map(|(name, kind)| format!("{name} ({})", kind.as_str())).collect();
    let fields: Vec<String> = StateKind::ALL
        .iter()
        .map(|kind| format!("{}: {}", kind.as_str(), kind.fields().join(", ")))
        .collect();
    let task = format!(
        "Give the current state of these people and things, as the story shows it. One line \
         each:\n\
         [state:Name:type] field=value | field=value\n\
         Example: [state:Hanna:character] location=the mill loft | injuries=a sprained wrist\n\
         Fields by type:\n{}\n\
         Give only fields the story speaks of; leave out what is not known, and leave out whoever \
         does not appear. If something is over (a wound healed, a thing given away), give the new \
         value. If nothing is known, answer NONE.",
        fields.join("\n")
    );
    let (people, _, story) = source.shown();
    let tracked = part("Known", &entities.join(", "));
    ModelQuestion {
        purpose: Purpose::Ledger,
        prompt: prompt(&[GUARD, &task, &people, &tracked, &story]),
        max_tokens: 400,
    }
}

/// Reads the cards of a reply; later lines about the same entity add to earlier ones.
pub fn parse(reply: &str, rules: &Rules) -> Ledger {
    let mut ledger = Ledger::default();
    for line in reply_lines(&plain_lines(reply, rules.text)) {
        let Some(parts) = CARD.captures(line) else { continue };
        let (name, kind) = (parts[1].trim(), parts[2].trim());
        let fields: Vec<(String, String)> =
            parts[3].split('|').filter_map(|part| field(part, rules)).collect();
        if name.is_empty() || fields.is_empty() {
            continue;
        }
        let card = ledger.entry(&Ledger::key(name, kind));
        card.name.get_or_insert_with(|| name.to_owned());
        card.fields.extend(fields);
    }
    ledger
}

fn field(part: &str, rules: &Rules) -> Option<(String, String)> {
    let (name, value) = part.split_once('=')?;
    let name = name.split_whitespace().collect::<Vec<_>>().join("_").to_lowercase();
    let value = value.trim();
    let said = rules.text.choose(value.trim_end_matches('.'), value);
    let is_empty = PLACEHOLDERS.contains(&said.to_lowercase().as_str());
    (!name.is_empty() && !is_empty).then(|| (name, value.to_owned()))
}

/// What a ledger pass works on.
#[derive(Clone, Debug)]
pub struct LedgerInput<'pass> {
    /// Settings, rules and model.
    pub config: Config<'pass>,
    /// What it reads.
    pub source: PassSource<'pass>,
    /// The entities of character and chat.
    pub entities: &'pass [&'pass Entity],
    /// The cards.
    pub ledger: &'pass Ledger,
}

/// The result of a ledger pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerOutcome {
    /// How many entities changed.
    pub updated: usize,
    /// The cards.
    pub ledger: Ledger,
}

/// Runs a pass. Asks nothing if the tier is off or no entity has a card.
pub fn run(input: &LedgerInput<'_>, script: &mut Script<'_>) -> Result<LedgerOutcome, Need> {
    let mut ledger = input.ledger.clone();
    let tracked = tracked(input.entities);
    let is_off = !input.config.settings.state_ledger_enabled;
    if is_off || tracked.is_empty() || input.source.messages().is_empty() {
        return Ok(LedgerOutcome { updated: 0, ledger });
    }
    let rules = input.config.rules;
    let news = script
        .ask_for(prompt_for(&input.source, &tracked), rules.text, |reply| {
            CARD.is_match(reply).then(|| parse(reply, rules))
        })?
        .unwrap_or_default();
    let news = if input.config.rules.ledger_expires { sourced(news, &input.source) } else { news };
    let cast = input.source.cast();
    let news = if rules.text.is_tolerant() { with_names(&news, &cast) } else { news };
    ledger.merge(&news);
    Ok(LedgerOutcome { updated: news.len(), ledger })
}

/// Cards of people under the names that the story gives them.
fn with_names(news: &Ledger, cast: &StoryCast) -> Ledger {
    let mut named = Ledger::default();
    for (key, card) in news.iter() {
        let kind = key.rsplit_once('|').map_or("", |(_, kind)| kind);
        let name = card.name.as_deref().map(|name| cast.person(name).to_owned());
        let key = name.as_deref().map_or_else(|| key.to_owned(), |name| Ledger::key(name, kind));
        let known = named.entry(&key);
        known.name = name;
        known.sources.extend(card.sources.clone());
        known.fields.extend(card.fields.clone());
    }
    named
}

/// Gives each value the message it was read from: the newest that shares its words, or the newest
/// of all.
fn sourced(mut news: Ledger, source: &PassSource<'_>) -> Ledger {
    let newest = source.messages().last().map(|item| item.id);
    let keys: Vec<String> = news.iter().map(|(key, _)| key.to_owned()).collect();
    for key in keys {
        let card = news.entry(&key);
        let name = card.name.clone().unwrap_or_default();
        for (field, value) in card.fields.clone() {
            let support = source.support(&format!("{name} {value}"));
            if let Some(id) = support.last().copied().or(newest) {
                card.sources.insert(field, id);
            }
        }
    }
    news
}

/// Entities that have a card, without repeats.
fn tracked<'entity>(entities: &[&'entity Entity]) -> Vec<(&'entity str, StateKind)> {
    let mut tracked: Vec<(&str, StateKind)> = Vec::new();
    for entity in entities {
        let Some(kind) = StateKind::of(entity.kind) else { continue };
        let is_known = tracked.iter().any(|(name, other)| {
            *other == kind && name.to_lowercase() == entity.name.to_lowercase()
        });
        if !is_known {
            tracked.push((&entity.name, kind));
        }
    }
    tracked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_keeps_what_is_known_and_drops_placeholders() {
        let ledger = parse(
            "Output: [state:Ship: Heron:object] location=dry dock | owner=N/A\n\
             [STATE:ship: heron:Object] Carried Items=rope | damage=\n[state:Odo:character] mood=Unknown.",
            &Rules::default(),
        );
        assert_eq!(ledger.len(), 1);
        let card = ledger.get("ship: heron|object").cloned().unwrap_or_default();
        assert_eq!(card.name.as_deref(), Some("Ship: Heron"));
        let fields: Vec<(&str, &str)> =
            card.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(fields, [("carried_items", "rope"), ("location", "dry dock")]);
    }

    #[test]
    fn fields_need_no_blanks_round_their_bar() {
        let of = |reply: &str, rules: &Rules| {
            let ledger = parse(reply, rules);
            let card = ledger.get("mara|character").cloned().unwrap_or_default();
            card.fields.into_iter().map(|(name, value)| name + "=" + &value).collect::<Vec<_>>()
        };
        let (ours, theirs) = (Rules::default(), Rules::smart_memory_1_8());
        let reply = "[state:Mara:character] location=quay|mood=None.";
        assert_eq!(of(reply, &ours), ["location=quay"]);
        assert_eq!(of(reply, &theirs), ["location=quay", "mood=None."]);
    }
}
