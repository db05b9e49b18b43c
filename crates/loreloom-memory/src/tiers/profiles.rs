//! Profiles: the current state of a character, from its memories.

use std::sync::LazyLock;

use regex::Regex;

use super::{GUARD, contents};
use crate::{
    pass::{ModelQuestion, Need, Purpose, Script},
    record::{Entity, EntityKind, Memory, Profile},
    rules::Rules,
    text::pattern,
};

static CHARACTER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?is)<character_state>(.*?)</character_state>"));
static WORLD: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?is)<world_state>(.*?)</world_state>"));
static MATRIX: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?is)<relationship_matrix>(.*?)</relationship_matrix>"));

/// What a profile is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct ProfileNotes<'notes> {
    /// Active long-term memories.
    pub longterm: &'notes [&'notes Memory],
    /// Active session memories.
    pub session: &'notes [&'notes Memory],
    /// The entities of character and chat.
    pub entities: &'notes [&'notes Entity],
}

/// Asks for a profile.
pub fn prompt_for(character: &str, notes: ProfileNotes<'_>) -> ModelQuestion {
    let names: Vec<String> = notes
        .entities
        .iter()
        .filter(|entity| matches!(entity.kind, EntityKind::Character | EntityKind::Place))
        .map(|entity| format!("{} ({})", entity.name, entity.kind.as_str()))
        .collect();
    ModelQuestion {
        purpose: Purpose::Profile,
        prompt: format!(
            "{GUARD}\n\n\
             Draw from these notes where {character} stands now. Three blocks, one short line \
             for each field, nothing that the notes do not support:\n\
             <character_state>\nGoals: …\nMood: …\nFears: …\nLoyalties: …\n</character_state>\n\
             <world_state>\nLocation: …\nThreats: …\nUnresolved: …\nTime: …\n</world_state>\n\
             <relationship_matrix>\nName (type): how {character} stands to them [confidence: 0 to 1]\n\
             </relationship_matrix>\n\n\
             People and places: {}\n\n\
             Known for good:\n{}\n\nFrom this conversation:\n{}",
            names.join(", "),
            contents(notes.longterm),
            contents(notes.session)
        ),
        max_tokens: 600,
    }
}

/// Reads a profile; `None` without a complete block.
pub fn parse(reply: &str) -> Option<Profile> {
    let block = |tag: &Regex| {
        tag.captures(reply).map(|found| found[1].trim().to_owned()).unwrap_or_default()
    };
    let profile = Profile {
        character_state: block(&CHARACTER),
        world_state: block(&WORLD),
        relationship_matrix: block(&MATRIX),
        ts: None,
    };
    (profile != Profile::default()).then_some(profile)
}

/// Whether a profile is missing or older than this many minutes.
pub fn is_stale(profile: Option<&Profile>, now: i64, minutes: u32) -> bool {
    const MINUTE: i64 = 60_000;
    profile
        .and_then(|profile| profile.ts)
        .is_none_or(|drawn| now.saturating_sub(drawn) > i64::from(minutes) * MINUTE)
}

/// Writes a profile, without a date. Without memories, asks nothing.
pub fn run(
    character: &str,
    notes: ProfileNotes<'_>,
    rules: &Rules,
    script: &mut Script<'_>,
) -> Result<Option<Profile>, Need> {
    if notes.longterm.is_empty() && notes.session.is_empty() {
        return Ok(None);
    }
    script.ask_for(prompt_for(character, notes), rules.text, parse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_profile_is_taken_and_an_unclosed_one_is_not() {
        let world = parse("x <WORLD_STATE> Location: reef </WORLD_STATE>");
        let expected = Profile { world_state: "Location: reef".into(), ..Profile::default() };
        assert_eq!(world, Some(expected));
        assert_eq!(parse("<character_state>Goals: lost"), None);
    }

    #[test]
    fn a_profile_grows_stale_after_its_minutes() {
        let drawn = |ts| Profile { ts: Some(ts), ..Profile::default() };
        for (profile, now, expected) in [
            (None, 0, true),
            (Some(drawn(0)), 30 * 60_000, false),
            (Some(drawn(0)), 30 * 60_000 + 1, true),
        ] {
            assert_eq!(is_stale(profile.as_ref(), now, 30), expected, "{now}");
        }
    }
}
