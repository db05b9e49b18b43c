//! Names in the instructions of a prompt.
//!
//! Main prompts address the model as the character and name the user. The phrases are those of
//! common presets; what follows or precedes them must read as a name.

use super::naming::{name_at, name_before};

/// What comes before the character's name.
const BEFORE_CHAR: [&str; 22] = [
    "you are ",
    "you're ",
    "your role is ",
    "the role of ",
    "roleplay as ",
    "role-play as ",
    "play as ",
    "you play ",
    "you will play ",
    "act as ",
    "acting as ",
    "portray ",
    "portraying ",
    "respond as ",
    "reply as ",
    "reply only as ",
    "write as ",
    "writing as ",
    "speak as ",
    "continue as ",
    "character as ",
    "embody ",
];

/// What comes after the character's name.
const AFTER_CHAR: [&str; 5] =
    ["'s next reply", "'s next response", "'s next message", "'s next turn", "'s next line"];

/// What comes before the user's name.
const BEFORE_USER: [&str; 19] = [
    "roleplay with ",
    "role-play with ",
    "conversation with ",
    "chat with ",
    "exchange with ",
    "scene with ",
    "story with ",
    "interact with ",
    "interacting with ",
    "talking to ",
    "talking with ",
    "reply to ",
    "respond to ",
    "the user is ",
    "user's name is ",
    "behalf of ",
    "speak for ",
    "write for ",
    "impersonate ",
];

/// How the instruction begins with which SillyTavern asks for the user's next message.
const IMPERSONATION: &str = "write your next reply from the point of view of ";

/// Names that an instruction gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NamedRoles {
    pub(super) user: Option<String>,
    pub(super) char: Option<String>,
}

/// The names in one piece of a prompt's instructions.
pub(super) fn named_roles(text: &str) -> NamedRoles {
    let small = text.to_ascii_lowercase();
    if let Some(at) = small.find(IMPERSONATION) {
        let user = name_at(&text[at + IMPERSONATION.len()..]);
        let char = small.find("write as ").and_then(|at| name_at(&text[at + "write as ".len()..]));
        let owned = |found: Option<(&str, &str)>| found.map(|(name, _)| name.to_owned());
        return NamedRoles { user: owned(user), char: owned(char) };
    }
    let mut found = NamedRoles::default();
    let replies = AFTER_CHAR.iter().filter_map(|phrase| small.find(phrase)).min();
    found.char = replies.and_then(|at| name_before(&text[..at])).map(str::to_owned);
    for (name, is_char) in addressed(text, &small) {
        let role = if is_char { &mut found.char } else { &mut found.user };
        role.get_or_insert_with(|| name.to_owned());
    }
    if found.user == found.char {
        found.user = None;
    }
    found
}

/// Whether a text speaks to the model: it names the character to play first, or asks for the next
/// reply.
pub(super) fn addresses_the_model(text: &str) -> bool {
    let small = text.trim_start().to_ascii_lowercase();
    BEFORE_CHAR.iter().any(|phrase| small.starts_with(phrase))
        || AFTER_CHAR.iter().any(|phrase| small.contains(phrase))
        || small.contains(IMPERSONATION)
}

/// Names after phrases, in the order of the text, and whether each is the character's.
fn addressed<'text>(text: &'text str, small: &str) -> Vec<(&'text str, bool)> {
    let phrases = BEFORE_CHAR.iter().map(|phrase| (*phrase, true));
    let phrases = phrases.chain(BEFORE_USER.iter().map(|phrase| (*phrase, false)));
    let mut found: Vec<(usize, &str, bool)> = Vec::new();
    for (phrase, is_char) in phrases {
        for (at, _) in small.match_indices(phrase) {
            if small[..at].ends_with(char::is_alphanumeric) {
                continue;
            }
            let Some((name, rest)) = name_at(&text[at + phrase.len()..]) else { continue };
            let owns = rest.starts_with("'s") || rest.starts_with("\u{2019}s");
            // "Never write as Wren" is about the user.
            let is_char = is_char && !is_negated(&small[..at]);
            if !(owns && is_char) {
                found.push((at, name, is_char));
            }
        }
    }
    found.sort_unstable_by_key(|one| one.0);
    found.into_iter().map(|(_, name, is_char)| (name, is_char)).collect()
}

/// Whether a phrase is part of something that the model must not do.
fn is_negated(before: &str) -> bool {
    let clause = before.rsplit(['.', '!', '\n', ';', ':']).next().unwrap_or_default();
    ["not ", "n't ", "n\u{2019}t ", "never ", "avoid "].iter().any(|word| clause.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_prompts_name_the_character_and_the_user() {
        for (text, char, user) in [
            ("You are Mira Vell, keeper of the ferry.", Some("Mira Vell"), None),
            (
                "You're \"Mira Vell\" in this never-ending roleplay with \"Wren\".",
                Some("Mira Vell"),
                Some("Wren"),
            ),
            (
                "You are an expert actor. Currently your role is Mira Vell, which is described below. As Mira Vell, continue the exchange with Wren.",
                Some("Mira Vell"),
                Some("Wren"),
            ),
            (
                "Write Tobin's next reply in this scene. Never speak for Wren.",
                Some("Tobin"),
                Some("Wren"),
            ),
            (
                "Enter RP mode. You shall reply to Wren while staying in character.",
                None,
                Some("Wren"),
            ),
            ("Roleplay as Mira Vell. Do not write as Wren.", Some("Mira Vell"), Some("Wren")),
            (
                "[Write your next reply from the point of view of Wren, using the chat history so far as a guideline for the writing style of Wren. Don't write as Mira Vell or system.]",
                Some("Mira Vell"),
                Some("Wren"),
            ),
            ("You are Mira's sister. This is a story about tides.", None, None),
            ("Write vivid prose in the past tense. Be concise.", None, None),
            ("You are a helpful assistant.", None, None),
        ] {
            let expected =
                NamedRoles { user: user.map(str::to_owned), char: char.map(str::to_owned) };
            assert_eq!(named_roles(text), expected, "{text}");
        }
    }
}
