//! Verdicts in plain English, for the command line.

use super::{
    Gate, GroupRule, KeptPlace, KeyCost, KeyMatch, Outcome, Reason, SelectionUse, Served, Stop,
    TextSource, Trigger, Verdict, Warning,
};
use crate::{
    book::SelectiveLogic,
    dialects::cards::Problem,
    hygiene::{HazardCount, Hygiene},
    ids::EntryId,
    library::Dialect,
    place::{Place, Provenance},
    turn::StillHolds,
};

/// What people call an entry.
pub type Names<'a> = &'a dyn Fn(&EntryId) -> String;

/// Why an entry fired or did not, as a sentence without its name.
pub fn sentence(verdict: &Verdict, names: Names<'_>) -> String {
    let text = plain_sentence(verdict, names);
    if verdict.speaker_unknown {
        return format!("{text}; its character's book takes part while nobody is known to speak");
    }
    text
}

fn plain_sentence(verdict: &Verdict, names: Names<'_>) -> String {
    let kept = verdict.kept_place.as_deref();
    match &verdict.outcome {
        Outcome::Activated { place, trigger, tokens, shortened_from } => {
            let mut reason = reason(trigger, names);
            if let Some(before) = shortened_from {
                reason = format!("{reason}; shortened from {before} to {tokens} tokens");
            }
            match (place, kept) {
                (Some(own), Some(kept)) => {
                    let (here, own) = (self::place(&kept.place), self::place(own));
                    format!("{reason}; {here}, for the prompt cache, instead of {own}")
                }
                (Some(place), None) => format!("{reason}; {}", self::place(place)),
                (None, _) if tokens.0 == 0 => {
                    format!("{reason}; it has no text, so nothing was sent")
                }
                (None, _) => format!("{reason}; it names no place, so nothing was sent"),
            }
        }
        Outcome::Stopped(stop) => match kept {
            Some(kept) => format!("{}; {}", self::stop(stop, names), lingers(kept)),
            None => self::stop(stop, names),
        },
    }
}

/// Words for a text that stays though nothing asks for it.
fn lingers(kept: &KeptPlace) -> String {
    let since = match kept.idle_since {
        Some(since) => format!(", not asked for since message {}", since.0),
        None => String::new(),
    };
    format!("its text is still {} for the prompt cache{since}", place(&kept.place))
}

/// The same with all it took: an entry that another brought in is followed by why that one
/// fired, down to what was said.
pub fn chain(verdict: &Verdict, all: &[Verdict], names: Names<'_>) -> String {
    let mut text = sentence(verdict, names);
    let mut seen = vec![&verdict.entry];
    let mut parent = parent_of(verdict);
    while let Some(entry) = parent.filter(|entry| !seen.contains(entry)) {
        let Some(verdict) = all.iter().find(|verdict| verdict.entry == *entry) else { break };
        let Outcome::Activated { trigger, .. } = &verdict.outcome else { break };
        text = format!("{text} <- {}: {}", names(entry), reason(trigger, names));
        seen.push(entry);
        parent = parent_of(verdict);
    }
    text
}

fn parent_of(verdict: &Verdict) -> Option<&EntryId> {
    match &verdict.outcome {
        Outcome::Activated { trigger, .. } => trigger.parents.first(),
        Outcome::Stopped(_) => None,
    }
}

/// Why a key was given up.
fn given_up(cost: KeyCost) -> String {
    match cost {
        KeyCost::TooManySteps => "takes too many steps".to_owned(),
        KeyCost::Suspended => "is suspended because it was too slow in an earlier turn".to_owned(),
        KeyCost::NoStepsLeft => {
            "was not tried because other keys used up the steps of the turn".to_owned()
        }
    }
}

/// A warning as a sentence.
pub fn warning(warning: &Warning) -> String {
    match warning {
        Warning::KeyTooSlow { entry, key, cost } => {
            format!("{entry}: the key {} {}", quoted(key), given_up(*cost))
        }
        Warning::KeyUnusable { entry, key } => {
            format!("{entry}: the key {} cannot be used and never matches", quoted(key))
        }
        Warning::KeyNotARegex { entry, key } => format!(
            "{entry}: the key {} is no valid regular expression and is looked for as plain text",
            quoted(key)
        ),
        Warning::AlreadyThere { source } => {
            format!("{}: the front end had put it into the prompt itself", origin(source))
        }
        Warning::WithoutLore { reason } => format!("this turn was sent without lore: {reason}"),
        Warning::NobodySpeaks { source } => format!(
            "{}: it says `{{{{char}}}}`, but no character is known to speak, so the macro stays",
            origin(source)
        ),
        Warning::OldNotes { vault, seconds, reason } => {
            let vault =
                if vault.is_empty() { String::new() } else { format!(" {}", quoted(vault)) };
            let since = match seconds {
                Some(seconds) => format!("its notes are {} old", count_long(*seconds, "second")),
                None => "it has no notes yet".to_owned(),
            };
            format!("the vault{vault} could not be read, {since}: {reason}")
        }
        Warning::Neutralised { source, by, found } => {
            let done = match by {
                Hygiene::Escape => "escaped",
                Hygiene::Strip => "removed",
                Hygiene::Keep => "kept",
            };
            let found: Vec<String> = found.iter().map(HazardCount::words).collect();
            format!("{}: {done} {}", origin(source), found.join(", "))
        }
        Warning::Decorator { entry, line, problem } => {
            let why = match problem {
                Problem::Unknown => "nobody knows it",
                Problem::BadArgument => "its argument is missing or of the wrong kind",
                Problem::Conflict => "another decorator leaves it nothing to say",
                Problem::Unsupported => "the front end cannot do it",
                Problem::NoDecoratorAbove => "it is a fallback of nothing",
            };
            format!("{entry}: the line {} does nothing: {why}", quoted(line))
        }
    }
}

/// Where a text comes from.
fn origin(source: &Provenance) -> String {
    match source {
        Provenance::Lore { entry, .. } => format!("entry {entry}"),
        Provenance::AuthorsNote => "the author's note".to_owned(),
        Provenance::Memory(slot) => format!("memory of slot {slot}"),
    }
}

fn count_long(number: u64, what: &str) -> String {
    count(u32::try_from(number).unwrap_or(u32::MAX), what)
}

/// How a selecting model took part, as a sentence.
pub fn selection(selection: &SelectionUse) -> String {
    let SelectionUse { candidates, chosen, served, fallback, .. } = selection;
    let of = format!("{chosen} of {}", count(*candidates, "note"));
    let served = match served {
        Served::Model => format!("the selecting model chose {of}"),
        Served::Kept { because } => {
            let why = match because {
                StillHolds::SameChat => "nothing new was said",
                StillHolds::SameCandidates => "nothing new came up",
                StillHolds::NothingNamed => "what was said since names no note",
            };
            format!("the selecting model's last choice holds, {of}: {why}")
        }
        Served::NotAsked => "the selecting model had nothing to choose from".to_owned(),
        Served::Failed { reason } => format!("the selecting model failed: {reason}"),
    };
    match fallback {
        Some(fallback) => format!("{served}; {}", fallback.words()),
        None => served,
    }
}

fn reason(trigger: &Trigger, names: Names<'_>) -> String {
    match &trigger.reason {
        Reason::Key => {
            let Some(primary) = &trigger.primary else { return "a key was found".to_owned() };
            let mut text = found(primary, names);
            if !trigger.secondary.is_empty() {
                let keys: Vec<String> =
                    trigger.secondary.iter().map(|key| quoted(&key.key)).collect();
                text = format!("{text}, with {}", keys.join(", "));
            }
            // One parent is the text it was found in.
            if trigger.parents.len() > 1 {
                let parents: Vec<String> = trigger.parents.iter().map(names).collect();
                text = format!("{text} (brought in by {})", parents.join(", "));
            }
            text
        }
        Reason::Constant => "always on".to_owned(),
        Reason::Sticky { until } => format!("fired before and stays until message {}", until.0),
        Reason::Decorator => "forced on by @@activate".to_owned(),
        Reason::Forced => "asked for by the host".to_owned(),
        Reason::Bootstrap => "the chat is new".to_owned(),
        Reason::ActiveCharacter => "about the character who speaks".to_owned(),
        Reason::Cascade { from } => format!("brought along by {}", names(from)),
        Reason::Linked { from } => format!("linked from {}", names(from)),
        Reason::Fuzzy { score } => format!("about what is being said (score {score:.1})"),
        Reason::Pinned => "pinned to this chat".to_owned(),
        Reason::Selected { confidence, why } => {
            format!("chosen by the selecting model ({confidence}): {why}")
        }
        Reason::Fallback { to } => {
            format!("the selecting model gave no choice: {}", to.words())
        }
        Reason::Kept { .. } => "matched before and is kept".to_owned(),
        Reason::Semantic { score, threshold: None } => format!("near in meaning ({score:.2})"),
        Reason::Semantic { score, threshold: Some(threshold) } => {
            format!("near in meaning to the newest messages ({score:.2}, needed {threshold:.2})")
        }
    }
}

fn found(key: &KeyMatch, names: Names<'_>) -> String {
    let name = match &key.expanded {
        Some(expanded) => format!("{} (as {})", quoted(&key.key), quoted(expanded)),
        None => quoted(&key.key),
    };
    match &key.at {
        Some(at) => format!("{name} {}{}", source(&at.source, names), further(key)),
        None => format!("{name} matches any text"),
    }
}

/// The further messages that hold a key.
fn further(key: &KeyMatch) -> String {
    let message = |source: &TextSource| {
        let (TextSource::Message { index, .. } | TextSource::Speaker { index }) = source else {
            return None;
        };
        Some((index + 1).to_string())
    };
    let messages: Vec<String> = key.also.iter().filter_map(|at| message(&at.source)).collect();
    match messages.as_slice() {
        [] => String::new(),
        [one] => format!(" (also in message {one})"),
        [others @ .., last] => format!(" (also in messages {} and {last})", others.join(", ")),
    }
}

fn source(source: &TextSource, names: Names<'_>) -> String {
    match source {
        TextSource::Message { index, name: Some(name), .. } => {
            format!("in message {}, by {name}", index + 1)
        }
        TextSource::Message { index, role, name: None } => {
            format!("in message {} ({})", index + 1, role.as_str())
        }
        TextSource::Speaker { index } => format!("as the speaker of message {}", index + 1),
        TextSource::Persona => "in the persona's description".to_owned(),
        TextSource::Description => "in the character's description".to_owned(),
        TextSource::Personality => "in the character's personality".to_owned(),
        TextSource::DepthPrompt => "in the character's note".to_owned(),
        TextSource::Scenario => "in the scenario".to_owned(),
        TextSource::CreatorNotes => "in the creator's notes".to_owned(),
        TextSource::Prompt { name } => format!("in the prompt {}", quoted(name)),
        TextSource::Entry { entry } => format!("in the text of {}", names(entry)),
        TextSource::Joined => "across several texts".to_owned(),
    }
}

/// A pool of lore in words.
pub fn pool(pool: &str) -> String {
    match pool {
        "world_info" => "World Info".to_owned(),
        "vault" => "the vault".to_owned(),
        "memory" => "memory".to_owned(),
        "cards" => "card books".to_owned(),
        "cards_semantic" => "card books, by meaning".to_owned(),
        other => {
            let (name, semantic) = match other.strip_suffix("_semantic") {
                Some(name) => (name, ", by meaning"),
                None => (other, ""),
            };
            let title = Dialect::from_name(name).map_or(name, |dialect| dialect.title());
            format!("{title}{semantic}")
        }
    }
}

/// A place in words.
pub fn place(place: &Place) -> String {
    match place {
        Place::BeforeMain => "before the main prompt".to_owned(),
        Place::AfterMain => "after the main prompt".to_owned(),
        Place::BeforeCharacter => "before the character".to_owned(),
        Place::AfterCharacter => "after the character".to_owned(),
        Place::BeforeExamples => "before the examples".to_owned(),
        Place::AfterExamples => "after the examples".to_owned(),
        Place::NoteTop => "above the author's note".to_owned(),
        Place::NoteBottom => "below the author's note".to_owned(),
        Place::AtDepth(depth) => format!("in the chat at depth {}", depth.0),
        Place::Outlet(name) => format!("at the outlet {}", quoted(name)),
        Place::Slot(name) => format!("in the slot {}", quoted(name)),
    }
}

#[expect(clippy::too_many_lines, reason = "one line for each rule")]
fn stop(stop: &Stop, names: Names<'_>) -> String {
    match stop {
        Stop::Disabled => "switched off".to_owned(),
        Stop::Trigger { wanted, found } => {
            format!("only for {}, this is {found}", wanted.join(", "))
        }
        Stop::Character { listed, exclude } => filter("characters", listed, *exclude),
        Stop::Tag { listed, exclude } => filter("tags", listed, *exclude),
        Stop::Delay { until } => format!("waits until the chat has {} messages", until.0),
        Stop::Cooldown { until } => format!("cooling down until message {}", until.0),
        Stop::RecursionLevel { level } => {
            format!("waits for recursion level {level}, which was not reached")
        }
        Stop::RecursionLimit { steps } => {
            format!("recursion ends after {}, one more would bring it in", count(*steps, "step"))
        }
        Stop::NoMarker { name } => {
            format!("the prompt has no marker for {}, so it was not put in", quoted(name))
        }
        Stop::ExcludedFromRecursion => "other entries may not bring it in".to_owned(),
        Stop::Suppressed => "forced off by @@dont_activate".to_owned(),
        Stop::NoKeys => "has no keys".to_owned(),
        Stop::NoKeyFound => "none of its keys was found".to_owned(),
        Stop::KeyTooSlow { key, cost } => {
            format!("the key {} {}, and no other key was found", quoted(key), given_up(*cost))
        }
        Stop::NotNear { score: Some(score), threshold } => {
            format!("its meaning is not near enough ({score:.2}, needed {threshold:.2})")
        }
        Stop::NotNear { score: None, threshold } => {
            format!("found by meaning only, and not among the nearest (needed {threshold:.2})")
        }
        Stop::OutOfReach { key, distance, depth, characters, tokens } => {
            out_of_reach(key, *distance, *depth, (*characters, *tokens))
        }
        Stop::Copied { of } => format!("a copy of {}, which is there itself", quoted(&names(of))),
        Stop::CopyOfNothing => "a copy of an entry that its book does not have".to_owned(),
        Stop::Secondary { key, logic, found, missing } => secondary(key, *logic, found, missing),
        Stop::Group { group, winner, rule } => {
            self::group(group, winner.as_ref().map(names), *rule)
        }
        Stop::Chance { probability, .. } if *probability <= 0.0 => {
            "its chance is 0, so it never comes in".to_owned()
        }
        Stop::Chance { roll, probability } => {
            format!("rolled {roll:.1}, needed at most {probability:.1}")
        }
        Stop::Budget { .. }
        | Stop::OverBudget { .. }
        | Stop::BudgetClosed { .. }
        | Stop::NoRoom { .. } => budget_stop(stop),
        Stop::Once { .. } => "matched before and fires only once".to_owned(),
        Stop::Gate { gate } => self::gate(gate),
        Stop::Excluded { found } => format!("{} was found, which forbids it", list(found)),
        Stop::Required { missing } => format!("it also needs one of {}", list(missing)),
        Stop::Warmup { .. }
        | Stop::Resting { .. }
        | Stop::Context { .. }
        | Stop::Folder { .. }
        | Stop::Blocked
        | Stop::Reinjection { .. }
        | Stop::Requires { .. }
        | Stop::Excludes { .. }
        | Stop::Stripped { .. }
        | Stop::MaxEntries { .. }
        | Stop::LowScore { .. }
        | Stop::SearchLimit { .. }
        | Stop::NotSelected { .. }
        | Stop::Unsure { .. }
        | Stop::Guide
        | Stop::FellBack { .. } => vault_stop(stop),
    }
}

fn out_of_reach(
    key: &str,
    distance: u32,
    depth: u32,
    newest: (Option<u32>, Option<u32>),
) -> String {
    let last = |number: u32, unit: &str| match number {
        0 => "nothing of the chat is scanned for it".to_owned(),
        1 => format!("only the last {unit} is scanned"),
        number => format!("only the last {number} {unit}s are scanned"),
    };
    let scanned = match (newest, depth) {
        ((Some(characters), _), _) => last(characters, "character"),
        ((None, Some(tokens)), _) => last(tokens, "token"),
        ((None, None), 0) => "nothing is scanned for it".to_owned(),
        ((None, None), depth) => last(depth, "message"),
    };
    format!("{} is {} back, but {scanned}", quoted(key), count(distance + 1, "message"))
}

/// The rules about room.
#[expect(clippy::wildcard_enum_match_arm, reason = "the caller sends only these")]
fn budget_stop(stop: &Stop) -> String {
    match stop {
        Stop::Budget { needed, over, .. } if over.0 > 0 => format!(
            "needs {}, and lore is {} over its budget already, line ends counted",
            count(needed.0, "token"),
            over.0
        ),
        Stop::Budget { needed, left, .. } => {
            format!("needs {}, only {} left", count(needed.0, "token"), left.0)
        }
        Stop::OverBudget { needed, limit } => {
            format!("needs {}, the whole budget is {}", count(needed.0, "token"), limit.0)
        }
        Stop::BudgetClosed { needed } => format!(
            "an entry before it did not fit, which closed the budget; it has {}",
            count(needed.0, "token")
        ),
        Stop::NoRoom { needed } => format!(
            "lore and memory together have too little room, and others are more important; it \
             has {}",
            count(needed.0, "token")
        ),
        other => format!("{other:?}"),
    }
}

/// The rules that only vaults have.
#[expect(clippy::wildcard_enum_match_arm, reason = "the caller sends only these")]
fn vault_stop(stop: &Stop) -> String {
    match stop {
        Stop::Warmup { needed, found } => {
            format!("its keys occur {}, needed {needed}", times(*found))
        }
        Stop::Resting { left } => format!("pauses for {} more", count(*left, "generation")),
        Stop::Context { field, note, scene } if scene.is_empty() => {
            format!("its {field} is {}, the scene names none", list(note))
        }
        Stop::Context { field, note, scene } if note.is_empty() => {
            format!("it names no {field}, the scene's is {}", list(scene))
        }
        Stop::Context { field, note, scene } => {
            format!("its {field} is {}, the scene's is {}", list(note), list(scene))
        }
        Stop::Folder { folder, chosen } => {
            format!("lies in {}, only {} is looked into", quoted(folder), list(chosen))
        }
        Stop::Blocked => "blocked in this chat".to_owned(),
        Stop::Reinjection { ago, cooldown } => {
            format!("was in {ago} generations ago, comes back after {cooldown}")
        }
        Stop::Requires { missing } => format!("requires {}, which is not in", list(missing)),
        Stop::Excludes { present } => format!("excludes {}, which is in", list(present)),
        Stop::Stripped { generation } => {
            format!("the same text was sent in generation {generation}")
        }
        Stop::MaxEntries { most } => format!("{most} others are in already, which is the most"),
        Stop::LowScore { score, needed } => {
            format!("is about what is said, but not enough (score {score:.2}, needed {needed:.2})")
        }
        Stop::SearchLimit { score, most } => format!(
            "is about what is said (score {score:.2}), but only the best {most} are looked at"
        ),
        Stop::NotSelected { keys } if !keys.is_empty() => {
            format!("{}, but the selecting model did not choose it", were_found(keys))
        }
        Stop::Unsure { confidence, needed, keys } => {
            let found =
                if keys.is_empty() { String::new() } else { format!("{}, but ", were_found(keys)) };
            format!(
                "{found}the selecting model chose it with confidence {confidence}, needed {needed}"
            )
        }
        Stop::Guide => "a guide for those who write lore, never sent".to_owned(),
        Stop::FellBack { to } => {
            format!("the selecting model gave no choice: {}", to.words())
        }
        _ => "the selecting model did not choose it".to_owned(),
    }
}

fn times(number: u32) -> String {
    count(number, "time")
}

fn gate(gate: &Gate) -> String {
    match gate {
        Gate::After { wanted, count } => {
            format!("waits for {}, there are {count}", self::count(*wanted, "message"))
        }
        Gate::Every { wanted, count } => {
            format!("fires every {}, there are {count}", self::count(*wanted, "message"))
        }
        Gate::Greeting { wanted, found } => {
            format!("only with greeting {wanted}, this chat began with {found}")
        }
        Gate::GreetingOver => "only until the user speaks".to_owned(),
        Gate::UserIcon { wanted, found } => {
            format!("only with the icon {}, this is {}", quoted(wanted), quoted(found))
        }
    }
}

/// Keys that were found, as a sentence.
fn were_found(keys: &[String]) -> String {
    format!("{} {} found", list(keys), if keys.len() == 1 { "was" } else { "were" })
}

fn list(keys: &[String]) -> String {
    keys.iter().map(|key| quoted(key)).collect::<Vec<_>>().join(", ")
}

fn filter(what: &str, listed: &[String], exclude: bool) -> String {
    let not = if exclude { "not for" } else { "only for" };
    format!("{not} the {what} {}", listed.join(", "))
}

fn secondary(key: &str, logic: SelectiveLogic, found: &[String], missing: &[String]) -> String {
    let why = match logic {
        SelectiveLogic::AndAny => format!("none of {} was", list(missing)),
        SelectiveLogic::AndAll => {
            format!("{} {} not", list(missing), if missing.len() == 1 { "was" } else { "were" })
        }
        SelectiveLogic::NotAny => format!("so was {}, which forbids it", list(found)),
        SelectiveLogic::NotAll => format!("so were all of {}, which forbids it", list(found)),
        SelectiveLogic::Unknown => "its rule for further keys is unknown".to_owned(),
    };
    if key.is_empty() {
        return format!("is about what is said, but {why}");
    }
    format!("{} was found, but {why}", quoted(key))
}

fn group(group: &str, winner: Option<String>, rule: GroupRule) -> String {
    let winner = winner.unwrap_or_else(|| "another member".to_owned());
    let group = quoted(group);
    match rule {
        GroupRule::Sticky => format!("{winner} stays and keeps the group {group}"),
        GroupRule::Timed => format!("on cooldown in the group {group}"),
        GroupRule::Score => format!("{winner} matched more keys in the group {group}"),
        GroupRule::AlreadyActive => format!("the group {group} was won in an earlier pass"),
        GroupRule::Priority => format!("{winner} has priority in the group {group}"),
        GroupRule::Weight => format!("{winner} was drawn from the group {group}"),
        GroupRule::DoubleRemoval => {
            format!("removed in place of an entry that lost twice (group {group})")
        }
    }
}

fn quoted(text: &str) -> String {
    format!("\u{201c}{text}\u{201d}")
}

pub(super) fn count(number: u32, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

#[cfg(test)]
mod tests;
