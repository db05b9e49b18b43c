//! Profiles: the current state of a character, from its memories.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{GUARD, contents, part, prompt};
use crate::{
    pass::{ModelQuestion, Need, Purpose, Script},
    record::{Entity, EntityKind, Memory, Profile},
    reply::plain_lines,
    rules::Rules,
    settings::Settings,
    text::{TextRules, contains_word, pattern},
};
use loreloom_ports::MemoryId;

static CHARACTER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?is)<character_state>(.*?)</character_state>"));
static WORLD: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?is)<world_state>(.*?)</world_state>"));
static MATRIX: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?is)<relationship_matrix>(.*?)</relationship_matrix>"));
static CONFIDENCE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\s*[\[(]\s*confidence\s*[:=]?\s*[^\])]*[\])]"));
/// A field without a value.
static NO_VALUE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^[^:]{1,60}:\W*(?:unknown|none(?: known| yet| mentioned| stated)?|n/?a|not (?:yet )?(?:known|mentioned|specified|stated|applicable)|unspecified|unclear)?\W*$",
    )
});

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

impl ProfileNotes<'_> {
    /// The notes that concern a character: its own, and those of the session that name it.
    pub(crate) fn about(&self, character: &str) -> Vec<&Memory> {
        let names_it = |memory: &&&Memory| contains_word(&memory.content, character);
        let session = self.session.iter().filter(names_it);
        self.longterm.iter().chain(session).copied().collect()
    }
}

/// Asks for a profile.
pub fn prompt_for(character: &str, notes: ProfileNotes<'_>) -> ModelQuestion {
    let mut names: Vec<String> = Vec::new();
    for entity in notes.entities {
        let name = format!("{} ({})", entity.name, entity.kind.as_str());
        let is_meant = matches!(entity.kind, EntityKind::Character | EntityKind::Place);
        if is_meant && !names.iter().any(|known| known.to_lowercase() == name.to_lowercase()) {
            names.push(name);
        }
    }
    let task = format!(
        "Draw from these notes where {character} stands now. Three blocks, one short line for \
         each field:\n\
         <character_state>\nGoals: …\nMood: …\nFears: …\nLoyalties: …\n</character_state>\n\
         <world_state>\nLocation: …\nThreats: …\nUnresolved: …\nTime: …\n</world_state>\n\
         <relationship_matrix>\nName: how {character} stands to them\n</relationship_matrix>\n\
         Example of a line: Ruben: an old friend who owes her money.\n\
         Nothing that the notes do not support. Leave out a field that is not known."
    );
    ModelQuestion {
        purpose: Purpose::Profile,
        prompt: prompt(&[
            GUARD,
            &task,
            &part("People and places", &names.join(", ")),
            &part("Known for good", &contents(notes.longterm)),
            &part("From this conversation", &contents(notes.session)),
        ]),
        max_tokens: 600,
    }
}

/// The heading of a block, as models write it without tags: `**Character state**`, `## World`.
static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?im)^[\s#*_]*(?:(character)(?:[ _]state)?|(world)(?:[ _]state)?|relationships?(?:[ _]matrix)?)[\s*_]*:?[\s*_]*$",
    )
});

/// Reads a profile whose blocks have headings instead of tags; `None` without such a heading.
fn parse_headed(reply: &str) -> Option<Profile> {
    let reply = plain_lines(reply, TextRules::Tolerant);
    let mut profile = Profile::default();
    let headings: Vec<Captures<'_>> = HEADING.captures_iter(&reply).collect();
    for (at, found) in headings.iter().enumerate() {
        let whole = found.get(0)?;
        let next = headings.get(at + 1).and_then(|next| next.get(0));
        let text = &reply[whole.end()..next.map_or(reply.len(), |next| next.start())];
        let fields = text.lines().map(|line| line.replacen(" | ", ": ", 1));
        let fields: Vec<String> =
            fields.filter(|line| line.contains(": ") && !line.starts_with("Name: ")).collect();
        let block = match (found.get(1), found.get(2)) {
            (Some(_), _) => &mut profile.character_state,
            (_, Some(_)) => &mut profile.world_state,
            _ => &mut profile.relationship_matrix,
        };
        *block = fields.join("\n");
    }
    (profile != Profile::default()).then_some(profile)
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
        ..Profile::default()
    };
    (profile != Profile::default()).then_some(profile)
}

/// A block without fields that say nothing, and without numbers for confidence.
pub(crate) fn readable(block: &str) -> String {
    let block = plain_lines(block, TextRules::Tolerant);
    let lines = block.lines().map(|line| CONFIDENCE.replace_all(line, "").trim().to_owned());
    let lines = lines.filter(|line| !line.is_empty() && !NO_VALUE.is_match(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// How much time went by since a profile was drawn.
#[derive(Clone, Copy, Debug)]
pub struct ProfileAge {
    /// Messages since then.
    pub messages: usize,
    /// The time.
    pub now: i64,
}

/// Whether a profile is missing or outdated. It is outdated only if notes that concern the
/// character changed: after so many messages or minutes, or soon if one of its notes no longer
/// holds or a vital one is new.
pub fn is_stale(
    profile: Option<&Profile>,
    about: &[&Memory],
    age: ProfileAge,
    settings: &Settings,
) -> bool {
    const MINUTE: i64 = 60_000;
    const SOON: usize = 8;
    const VITAL: u8 = 3;
    /// With fewer notes a profile would only repeat them.
    const LEAST: usize = 3;
    let Some(profile) = profile else { return about.len() >= LEAST };
    let Some(drawn) = profile.ts else { return true };
    let is_gone = |id: &MemoryId| !about.iter().any(|memory| memory.id == *id);
    let new = || about.iter().filter(|memory| !profile.notes.contains(&memory.id));
    let gone = profile.notes.iter().any(is_gone);
    if !gone && new().next().is_none() {
        return false;
    }
    let concerns = gone || new().any(|memory| memory.importance() >= VITAL);
    let minutes = i64::from(settings.profiles_stale_minutes) * MINUTE;
    age.messages >= settings.profiles_stale_messages
        || age.messages >= SOON && concerns
        || age.now.saturating_sub(drawn) > minutes
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
    script.ask_for(prompt_for(character, notes), rules.text, |reply| {
        if !rules.text.is_tolerant() {
            return parse(reply);
        }
        let profile = cleaned(parse(reply).or_else(|| parse_headed(reply))?);
        (profile != Profile::default()).then_some(profile)
    })
}

/// A new profile, with the blocks of the old one that it says nothing about: a reply that breaks off
/// has lost its last ones.
pub(crate) fn completed(new: Profile, old: Option<&Profile>) -> Profile {
    let Some(old) = old else { return new };
    let block = |new: String, old: &String| if new.is_empty() { old.clone() } else { new };
    Profile {
        character_state: block(new.character_state, &old.character_state),
        world_state: block(new.world_state, &old.world_state),
        relationship_matrix: block(new.relationship_matrix, &old.relationship_matrix),
        ..new
    }
}

fn cleaned(profile: Profile) -> Profile {
    Profile {
        character_state: readable(&profile.character_state),
        world_state: readable(&profile.world_state),
        relationship_matrix: readable(&profile.relationship_matrix),
        ..profile
    }
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
    fn headings_and_tables_are_read_as_blocks() {
        let reply = "Here it is.\n**Character state**\n- Goals: find Odo\n- Mood: Unknown\n\n\
                     ## World State\n* **Location:** the reef\n\n### Relationships\n\
                     | Name | Standing |\n|---|---|\n| Odo | an old friend |\n";
        let profile = parse_headed(reply).map(cleaned).unwrap_or_default();
        assert_eq!(profile.character_state, "Goals: find Odo");
        assert_eq!(profile.world_state, "Location: the reef");
        assert_eq!(profile.relationship_matrix, "Odo: an old friend");
        assert_eq!(parse_headed("I'm sorry, but I can't do that."), None);
    }

    #[test]
    fn a_field_that_says_nothing_is_left_out() {
        let block = "Goals: find Odo\nMood: Unknown.\nFears: not mentioned\n\
                     Odo (friend): trusts him [confidence: 0.4]\nMara: (none)\n\
                     Threats: **N/A**\nTime: …\nLis: none of her business";
        assert_eq!(
            readable(block),
            "Goals: find Odo\nOdo (friend): trusts him\nLis: none of her business"
        );
    }

    #[test]
    fn a_profile_is_drawn_again_when_its_notes_changed() {
        let settings = Settings::default();
        let memory = |id: &str, importance| Memory {
            id: id.into(),
            importance: Some(importance),
            ..Memory::default()
        };
        let (old, new, vital) = (memory("1", 2), memory("2", 2), memory("3", 3));
        let drawn = Profile { ts: Some(0), notes: vec!["1".into()], ..Profile::default() };
        let half_an_hour = 30 * 60_000;
        for (about, messages, now, expected) in [
            (vec![&old], 500, half_an_hour * 9, false),
            (vec![&old, &new], 19, half_an_hour, false),
            (vec![&old, &new], 20, 0, true),
            (vec![&old, &new], 1, half_an_hour + 1, true),
            (vec![&old, &vital], 8, 0, true),
            (vec![&old, &vital], 7, 0, false),
            (vec![&new], 8, 0, true),
        ] {
            let age = ProfileAge { messages, now };
            assert_eq!(is_stale(Some(&drawn), &about, age, &settings), expected, "{messages}");
        }
        let age = ProfileAge { messages: 0, now: 0 };
        assert!(is_stale(None, &[&old, &new, &vital], age, &settings));
        assert!(!is_stale(None, &[&old, &new], age, &settings), "too few notes for a profile");
    }

    #[test]
    fn a_new_profile_keeps_the_blocks_that_its_reply_lost() {
        let old = Profile {
            character_state: "Mood: calm".into(),
            world_state: "Location: the reef".into(),
            ..Profile::default()
        };
        let new = Profile { character_state: "Mood: angry".into(), ..Profile::default() };
        let both = completed(new.clone(), Some(&old));
        assert_eq!(
            (both.character_state.as_str(), both.world_state),
            ("Mood: angry", old.world_state)
        );
        assert_eq!(completed(new.clone(), None), new);
    }
}
