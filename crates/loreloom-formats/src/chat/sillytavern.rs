//! `SillyTavern` chats (`.jsonl`): a header line, then one message per line.

use loreloom_core::{
    book::Extensions,
    chat::{Message, Role},
    number::whole,
};

use super::{ChatFormat, ImportedChat, ImportedMessage, unknown_keys};
use crate::{
    error::FormatError,
    json::{self, Node, js},
    limits::{Limit, Limits},
    note::Notes,
};

/// Whether an object is a line of such a chat.
pub(super) fn is_line(node: &Node<'_>) -> bool {
    let has = |key: &str| node.get(key).is_some();
    has("mes") && (has("name") || has("is_user"))
        || has("chat_metadata")
        || has("user_name") && has("character_name")
}

/// Reads the lines. A line that is not JSON is an error that names it: the file was cut
/// off or is something else, and half a story must not pass for a whole one.
pub(super) fn read(text: &str, limits: &Limits) -> Result<ImportedChat, FormatError> {
    let mut chat = ImportedChat {
        format: ChatFormat::Sillytavern,
        user_name: None,
        character_name: None,
        messages: Vec::new(),
        metadata: Extensions::new(),
        notes: Vec::new(),
    };
    let mut notes = Notes::default();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let parsed = json::parse(line, limits).map_err(|fault| on_line(fault, at + 1))?;
        let root = &parsed.root;
        notes.at_entry(Some(&format!("line {}", at + 1)));
        if root.get("mes").is_some() {
            let (limit, found) = (limits.messages, chat.messages.len() + 1);
            if found > limit {
                return Err(FormatError::TooMany { which: Limit::Messages, limit, found });
            }
            chat.messages.push(message(root, at + 1, &mut notes)?);
        } else if at == 0 {
            header(root, &mut chat, &mut notes);
        } else {
            notes.warn("mes", "is missing: the line was left out");
        }
    }
    chat.notes = notes.finish();
    Ok(chat)
}

/// The fault of a line, with the line's number in the file.
fn on_line(mut fault: FormatError, at: usize) -> FormatError {
    if let FormatError::Syntax { line, .. } | FormatError::TooDeep { line, .. } = &mut fault {
        *line = at;
    }
    fault
}

fn header(root: &Node<'_>, chat: &mut ImportedChat, notes: &mut Notes) {
    // SillyTavern writes `unused` if it has no name.
    let name = |key: &str| {
        root.get(key).and_then(Node::as_str).filter(|name| *name != "unused").map(str::to_owned)
    };
    chat.user_name = name("user_name");
    chat.character_name = name("character_name");
    chat.metadata = unknown_keys(root, &["user_name", "character_name"]);
    let note = root.get("chat_metadata").and_then(|about| about.get("note_prompt"));
    if note.and_then(Node::as_str).is_some_and(|note| !note.trim().is_empty()) {
        notes.info("note_prompt", "the author's note stays with SillyTavern: not taken over");
    }
}

const KNOWN: [&str; 8] =
    ["name", "is_user", "is_system", "send_date", "mes", "swipes", "swipe_id", "role"];

fn message(
    root: &Node<'_>,
    line: usize,
    notes: &mut Notes,
) -> Result<ImportedMessage, FormatError> {
    let place = || format!("line {line}");
    let text = match root.get("mes") {
        Some(node) => text_of(node).ok_or_else(|| FormatError::Field {
            place: place(),
            field: "mes",
            expected: "text",
            found: node.shown(),
        })?,
        None => "",
    };
    let name = root.get("name").and_then(Node::as_str);
    let mut message = Message::new(role(root), name, text);
    message.hidden = root.get("is_system").is_some_and(js::truthy);
    message.extensions = unknown_keys(root, &KNOWN).into();
    let swipes: Vec<String> = root
        .get("swipes")
        .map_or(&[][..], Node::items)
        .iter()
        .map(|swipe| text_of(swipe).unwrap_or_default().to_owned())
        .collect();
    let chosen = chosen(root, &swipes, text, notes);
    let sent = root.get("send_date").filter(|node| !node.is_null()).map(js::text);
    Ok(ImportedMessage { message, swipes, chosen, sent })
}

/// The text of a message or a version. Chub writes an object around it.
fn text_of<'node>(node: &'node Node<'_>) -> Option<&'node str> {
    node.as_str().or_else(|| node.get("message")?.as_str())
}

/// The chosen version: `swipe_id`, unless the text shows that it is another one.
fn chosen(root: &Node<'_>, swipes: &[String], text: &str, notes: &mut Notes) -> usize {
    if swipes.is_empty() {
        return 0;
    }
    // A number out of range is dealt with below.
    let id = whole(root.get("swipe_id").map_or(0.0, js::number)) as usize;
    if swipes.get(id).is_some_and(|swipe| swipe == text) {
        return id;
    }
    let found = swipes.iter().position(|swipe| swipe == text);
    if found.is_none() {
        notes.info("swipes", "none of them is the message's text, which was used");
    }
    found.unwrap_or_else(|| id.min(swipes.len() - 1))
}

/// A narrator's line is a message of the story: `extra.type` stays with it and says what it is.
fn role(root: &Node<'_>) -> Role {
    let extra = root.get("extra");
    if root.get("is_user").is_some_and(js::truthy) {
        Role::User
    } else if extra.is_some_and(|extra| extra.get("tool_invocations").is_some_and(Node::is_array)) {
        Role::Tool
    } else {
        Role::Assistant
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::import_chat;

    const CHAT: &str = concat!(
        r#"{"user_name":"Mira","character_name":"Torvald","create_date":"2026-1-2","chat_metadata":{"note_depth":4}}"#,
        "\r\n",
        r#"{"name":"Torvald","is_user":false,"is_system":false,"send_date":"January 2","mes":"Hello.","extra":{}}"#,
        "\n\n",
        r#"{"name":"Mira","is_user":true,"mes":"Hm.","force_avatar":"a.png"}"#,
        "\n",
        r#"{"name":"Torvald","is_user":false,"mes":"Two","swipes":["One","Two"],"swipe_id":1}"#,
        "\n",
        r#"{"name":"Note","is_user":false,"is_system":true,"mes":"hidden","extra":{"type":"narrator"}}"#,
        "\n",
        r#"{"name":"Tools","is_user":false,"is_system":true,"mes":"","extra":{"tool_invocations":[]}}"#,
    );

    fn read(text: &str) -> ImportedChat {
        import_chat(text.as_bytes(), &Limits::default()).unwrap()
    }

    #[test]
    fn header_roles_swipes_and_hidden_messages_are_read() {
        let chat = read(CHAT);
        assert_eq!(chat.format, ChatFormat::Sillytavern);
        assert_eq!(chat.user_name.as_deref(), Some("Mira"));
        assert_eq!(chat.character_name.as_deref(), Some("Torvald"));
        assert_eq!(chat.metadata["chat_metadata"]["note_depth"], 4);
        let rows: Vec<_> = chat
            .messages
            .iter()
            .map(|found| (found.message.role, found.message.text.as_str(), found.message.hidden))
            .collect();
        assert_eq!(
            rows,
            [
                (Role::Assistant, "Hello.", false),
                (Role::User, "Hm.", false),
                (Role::Assistant, "Two", false),
                (Role::Assistant, "hidden", true),
                (Role::Tool, "", true),
            ]
        );
        assert_eq!(chat.messages[0].sent.as_deref(), Some("January 2"));
        assert_eq!(chat.messages[1].message.extensions["force_avatar"], "a.png");
        assert_eq!(chat.messages[2].swipes, ["One", "Two"]);
        assert_eq!(chat.messages[2].chosen, 1);
        assert_eq!(chat.messages[3].message.extensions["extra"]["type"], "narrator");
    }

    #[test]
    fn a_chat_of_one_line_and_one_without_a_header_are_chats() {
        let chat = read(r#"{"user_name":"unused","character_name":"unused","chat_metadata":{}}"#);
        assert_eq!((chat.user_name, chat.messages.len()), (None, 0));
        let chat = read("{\"name\":\"A\",\"mes\":\"x\"}\n{\"name\":\"B\",\"mes\":\"y\"}\n");
        assert_eq!(chat.messages.len(), 2);
    }

    #[test]
    fn chubs_texts_are_in_objects() {
        let line = r#"{"name":"A","mes":{"message":"Two"},"swipes":[{"message":"One"},{"message":"Two"}]}"#;
        let chat = read(line);
        assert_eq!(chat.messages[0].message.text, "Two");
        assert_eq!(
            (&chat.messages[0].swipes[..], chat.messages[0].chosen),
            (&["One".to_owned(), "Two".to_owned()][..], 1)
        );
        let wrong =
            import_chat(br#"{"name":"A","mes":{"text":"x"}}"#, &Limits::default()).unwrap_err();
        assert_eq!(wrong.to_string(), "line 1: `mes` must be text, found an object");
    }

    #[test]
    fn an_authors_note_is_not_dropped_in_silence() {
        let chat =
            read(r#"{"user_name":"A","chat_metadata":{"note_prompt":"Dark.","note_depth":4}}"#);
        let notes: Vec<String> = chat.notes.iter().map(ToString::to_string).collect();
        assert_eq!(
            notes,
            [
                "entry line 1: `note_prompt`: the author's note stays with SillyTavern: not taken over"
            ]
        );
        assert!(read(r#"{"user_name":"A","chat_metadata":{"note_prompt":" "}}"#).notes.is_empty());
    }

    #[test]
    fn an_edited_swipe_is_found_by_its_text() {
        let line = r#"{"name":"A","mes":"Two","swipes":["One","Two"],"swipe_id":0}"#;
        assert_eq!(read(line).messages[0].chosen, 1);
        let line = r#"{"name":"A","mes":"New","swipes":["One","Two"],"swipe_id":9}"#;
        let chat = read(line);
        assert_eq!(chat.messages[0].chosen, 1);
        assert_eq!(
            chat.notes[0].to_string(),
            "entry line 1: `swipes`: none of them is the message's text, which was used"
        );
    }

    #[test]
    fn a_chat_that_was_cut_off_names_the_line() {
        let cut = &CHAT[..CHAT.len() - 20];
        let error = import_chat(cut.as_bytes(), &Limits::default()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("not valid JSON: a text without its closing quote at line 7"),
            "{error}"
        );
        let error = import_chat(b"{\"name\":\"A\",\"mes\":5}", &Limits::default()).unwrap_err();
        assert_eq!(error.to_string(), "line 1: `mes` must be text, found 5");
    }
}
