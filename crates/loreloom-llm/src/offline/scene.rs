//! What the storyteller knows: who speaks, what was said, what the world is.

use loreloom_core::{chat::Role, digest::Hasher, prompt::PromptMessage};

use super::sentences::{LoreSentence, lore_of};

/// A prompt as a storyteller sees it.
#[derive(Clone, Debug)]
pub(super) struct OfflineScene {
    /// The character that replies; nobody for a narrator.
    pub(super) speaker: Option<Character>,
    /// The name the user plays under.
    pub(super) persona: Option<String>,
    /// The last user message, without a speaker prefix.
    pub(super) ask: String,
    /// The user message before it, for what "it" may mean.
    pub(super) before: String,
    /// Sentences about the world, in the order of the prompt.
    pub(super) lore: Vec<LoreSentence>,
    /// Everything the model has said so far.
    pub(super) replies: String,
    /// What it said last.
    pub(super) last_reply: String,
    /// Decides between equally good words.
    pub(super) seed: u64,
    /// Which version of the reply is wanted.
    pub(super) version: u64,
    /// Whether the user's own next message is wanted.
    pub(super) writes_user: bool,
}

/// Somebody with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Character {
    pub(super) name: String,
    /// `her`, `his` or `their`.
    pub(super) possessive: &'static str,
}

/// Names that mean that nobody in particular speaks.
const NOBODY: [&str; 7] =
    ["narrator", "storyteller", "assistant", "system", "ai", "gpt", "chatgpt"];

impl OfflineScene {
    /// Reads a prompt. Another `version` is another telling of the same scene.
    pub(super) fn read(messages: &[PromptMessage], version: u64) -> Self {
        let hash = messages.iter().fold(Hasher::new("offline").number(0), |hash, message| {
            hash.field(message.role.as_str().as_bytes()).field(message.content.as_bytes())
        });
        let system: Vec<&str> = of_role(messages, Role::System).collect();
        let mut lore = Vec::new();
        let mut block = 0;
        for content in &system {
            lore.extend(lore_of(content, block));
            block += content.lines().count() + 1;
        }
        let last_user = messages.iter().rposition(|message| message.role == Role::User);
        let ask = last_user.map(|at| &messages[at]);
        let persona = ask
            .and_then(|message| message.name.clone())
            .or_else(|| system.iter().find_map(|content| persona_in(content)));
        let before = of_role(&messages[..last_user.unwrap_or_default()], Role::User).last();
        let speaker = speaker(messages, &system)
            .filter(|name| Some(name) != persona.as_ref())
            .map(|name| Character { possessive: possessive(&name, &system), name });
        let ask = ask.map(|message| without_prefix(&message.content, persona.as_deref()));
        Self {
            speaker,
            ask: ask.unwrap_or_default().trim().to_owned(),
            persona,
            before: before.unwrap_or_default().to_owned(),
            lore,
            replies: of_role(messages, Role::Assistant).collect::<Vec<_>>().join("\n"),
            last_reply: of_role(messages, Role::Assistant).last().unwrap_or_default().to_owned(),
            seed: hash.finish_u64(),
            version,
            writes_user: messages.last().is_some_and(|last| asks_for_user(&last.content)),
        }
    }
}

/// Whether the end of a prompt asks for the user's next message, in our words or SillyTavern's.
fn asks_for_user(content: &str) -> bool {
    let asked = content.lines().last().unwrap_or_default();
    asked.starts_with("Now write the next message of ")
        || asked.starts_with("[Write your next reply from the point of view of ")
}

fn of_role(messages: &[PromptMessage], role: Role) -> impl Iterator<Item = &str> {
    messages
        .iter()
        .filter(move |message| message.role == role)
        .map(|message| message.content.as_str())
}

/// Who is asked to speak: what the prompt says last wins over who spoke last.
fn speaker(messages: &[PromptMessage], system: &[&str]) -> Option<String> {
    let speaker = system.iter().rev().find_map(|content| speaker_in(content));
    speaker
        .or_else(|| {
            let last = messages.iter().rev().find(|message| message.role == Role::Assistant)?;
            last.name.clone().or_else(|| prefix_of(&last.content))
        })
        .filter(|name| !NOBODY.contains(&name.to_lowercase().as_str()))
}

/// The speaker that an instruction names.
fn speaker_in(content: &str) -> Option<String> {
    for lead in ["reply only as ", "reply as ", "You are ", "You're ", "You play "] {
        let named =
            content.match_indices(lead).find_map(|(at, _)| name_at(&content[at + lead.len()..]));
        if named.is_some() {
            return named;
        }
    }
    let end = content.find("'s next reply").or_else(|| content.find("’s next reply"))?;
    let start = content[..end].rfind("rite ")? + "rite ".len();
    name_at(&content[start..end])
}

/// The second name of "a chat between X and Y".
fn persona_in(content: &str) -> Option<String> {
    let (_, rest) = content.split_once("chat between ")?;
    let line = rest.lines().next()?;
    let (_, second) = line.split_once(" and ")?;
    name_at(second)
}

/// A name at the start of a text: capitalised words, with small ones between them.
fn name_at(text: &str) -> Option<String> {
    let mut end = 0;
    let mut from = 0;
    for word in text.split_inclusive(char::is_whitespace).take(5) {
        let bare = word.trim_end().trim_end_matches([',', '.', '!', '?', ':', ';', ']', ')', '"']);
        let stops = bare.len() < word.trim_end().len() || word.ends_with('\n');
        let bare = bare.strip_suffix("'s").or_else(|| bare.strip_suffix("’s")).unwrap_or(bare);
        if bare.starts_with(char::is_uppercase) {
            end = from + bare.len();
        } else if end == 0 || !matches!(bare, "of" | "the" | "von" | "van" | "de" | "la") {
            break;
        }
        if stops {
            break;
        }
        from += word.len();
    }
    let name = &text[..end];
    let first = name.split(' ').next().unwrap_or_default();
    (!name.is_empty() && !matches!(first, "The" | "A" | "An" | "In" | "I")).then(|| name.to_owned())
}

/// The `Name` of a text that begins `Name: `.
fn prefix_of(text: &str) -> Option<String> {
    let (prefix, _) = text.split_once(": ")?;
    let short = prefix.split_whitespace().count() <= 3 && prefix.len() <= 40;
    (short && name_at(prefix).as_deref() == Some(prefix)).then(|| prefix.to_owned())
}

fn without_prefix<'a>(text: &'a str, persona: Option<&str>) -> &'a str {
    let prefix = persona.map(str::to_owned).or_else(|| prefix_of(text));
    prefix
        .and_then(|name| text.strip_prefix(name.as_str()))
        .and_then(|rest| rest.strip_prefix(": "))
        .unwrap_or(text)
}

/// How the prompt speaks of a character's things, from the paragraphs that name them.
fn possessive(name: &str, system: &[&str]) -> &'static str {
    let first = name.split(' ').next().unwrap_or(name);
    let (mut her, mut his) = (0, 0);
    for line in system.iter().flat_map(|content| content.lines()) {
        if !line.contains(first) {
            continue;
        }
        for word in line.split(|letter: char| !letter.is_alphabetic()) {
            match word.to_ascii_lowercase().as_str() {
                "she" | "her" | "hers" => her += 1,
                "he" | "his" | "him" => his += 1,
                _ => {}
            }
        }
    }
    match her.cmp(&his) {
        std::cmp::Ordering::Greater => "her",
        std::cmp::Ordering::Less => "his",
        std::cmp::Ordering::Equal => "their",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: Role, content: &str) -> PromptMessage {
        PromptMessage { role, name: None, content: content.into() }
    }

    fn speaker_of(messages: &[PromptMessage]) -> Option<String> {
        OfflineScene::read(messages, 0).speaker.map(|speaker| speaker.name)
    }

    #[test]
    fn the_speaker_is_whom_the_prompt_names() {
        for (content, expected) in [
            (
                "Write Ivo Marsh's next reply in a fictional chat between Ivo Marsh and Wren.",
                Some("Ivo Marsh"),
            ),
            ("You are Mira, keeper of the gate.", Some("Mira")),
            ("You are Anna of the Reeds. Be kind.", Some("Anna of the Reeds")),
            ("[Write the next reply only as Tam.]", Some("Tam")),
            ("You are a storyteller.", None),
            ("You are the narrator.", None),
            ("You are The Narrator of this tale.", None),
            ("The gate is shut.", None),
        ] {
            assert_eq!(
                speaker_of(&[message(Role::System, content)]).as_deref(),
                expected,
                "{content}"
            );
        }
    }

    #[test]
    fn without_an_instruction_the_last_speaker_speaks_again() {
        let mut named = message(Role::Assistant, "Hm.");
        named.name = Some("Ivo".to_owned());
        assert_eq!(speaker_of(&[named]).as_deref(), Some("Ivo"));
        assert_eq!(speaker_of(&[message(Role::Assistant, "Mira: Hm.")]).as_deref(), Some("Mira"));
        assert_eq!(
            speaker_of(&[message(Role::Assistant, "Listen: hm.")]).as_deref(),
            Some("Listen")
        );
        assert_eq!(speaker_of(&[message(Role::Assistant, "The bell rings.")]), None);
    }

    #[test]
    fn persona_message_and_pronoun_are_read() {
        let scene = OfflineScene::read(
            &[
                message(
                    Role::System,
                    "Write Mira's next reply in a fictional chat between Mira and Wren.\nMira lost her lamp.",
                ),
                message(Role::User, "Wren: Hello there."),
            ],
            0,
        );
        assert_eq!(scene.persona.as_deref(), Some("Wren"));
        assert_eq!(scene.ask, "Hello there.");
        assert_eq!(scene.speaker.unwrap().possessive, "her");
        assert!(!scene.writes_user);
    }

    #[test]
    fn the_end_of_a_prompt_may_ask_for_the_users_message() {
        for (last, expected) in [
            ("Now write the next message of Wren, in the voice of Wren.", true),
            ("I go on.\nNow write the next message of Wren, in the voice of Wren.", true),
            ("[Write your next reply from the point of view of Wren, using the chat.]", true),
            ("Now write the next message of Wren, I said.\nAnd so I did.", false),
            ("Go on.", false),
        ] {
            let scene = OfflineScene::read(&[message(Role::System, last)], 0);
            assert_eq!(scene.writes_user, expected, "{last}");
        }
    }
}
