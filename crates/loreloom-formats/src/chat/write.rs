//! Chats as files: lines as SillyTavern reads them, and Markdown for people.

use loreloom_core::chat::Role;
use serde_json::{Map, Value, json};

use super::{ImportedChat, ImportedMessage};

/// SillyTavern's name for somebody without one.
const UNNAMED: &str = "unused";

/// A chat in SillyTavern's form (`.jsonl`), with all versions of each message.
/// [`import_chat`](super::import_chat) reads back the same chat.
pub fn export_sillytavern(chat: &ImportedChat) -> String {
    let user = chat.user_name.as_deref();
    let character = chat.character_name.as_deref();
    let mut header = Map::new();
    header.insert("user_name".to_owned(), json!(user.unwrap_or(UNNAMED)));
    header.insert("character_name".to_owned(), json!(character.unwrap_or(UNNAMED)));
    header.extend(chat.metadata.clone());
    header.entry("chat_metadata").or_insert_with(|| json!({}));
    let mut lines = vec![Value::Object(header).to_string()];
    lines.extend(chat.messages.iter().map(|one| line(one, user, character).to_string()));
    lines.join("\n") + "\n"
}

fn line(one: &ImportedMessage, user: Option<&str>, character: Option<&str>) -> Value {
    let message = &one.message;
    let is_user = message.role == Role::User;
    let usual = if is_user { user } else { character };
    let mut line = Map::new();
    let mut put = |key: &str, value: Value| line.insert(key.to_owned(), value);
    put("name", json!(message.name.as_deref().or(usual).unwrap_or_default()));
    put("is_user", json!(is_user));
    put("is_system", json!(message.hidden));
    if let Some(sent) = &one.sent {
        put("send_date", json!(sent));
    }
    put("mes", json!(message.text.as_str()));
    line.extend(message.extensions.iter().map(|(key, value)| (key.clone(), value.clone())));
    let extra = line.entry("extra").or_insert_with(|| json!({}));
    if let (Role::System, Some(extra)) = (message.role, extra.as_object_mut()) {
        extra.entry("type").or_insert_with(|| json!("narrator"));
    }
    if !one.swipes.is_empty() {
        line.insert("swipes".to_owned(), json!(one.swipes));
        line.insert("swipe_id".to_owned(), json!(one.chosen));
    }
    Value::Object(line)
}

/// The messages of a chat as Markdown. Hidden messages are left out.
pub fn export_markdown(chat: &ImportedChat, title: &str) -> String {
    let mut out = format!("# {}\n", title.split_whitespace().collect::<Vec<_>>().join(" "));
    for ImportedMessage { message, .. } in chat.messages.iter().filter(|one| !one.message.hidden) {
        let usual = match message.role {
            Role::User => chat.user_name.as_deref(),
            Role::Assistant => chat.character_name.as_deref(),
            Role::System | Role::Tool => None,
        };
        let name = message.name.as_deref().or(usual).filter(|_| !message.is_narration());
        out.push('\n');
        if let Some(name) = name {
            out.extend(["**", name, "**\n\n"]);
        }
        out.extend([message.text.trim_end(), "\n"]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, chat::import_chat};

    const CHAT: &str = concat!(
        r#"{"user_name":"Mira","character_name":"Torvald","create_date":"2026-1-2","chat_metadata":{"note_depth":4}}"#,
        "\n",
        r#"{"name":"Torvald","is_user":false,"is_system":false,"send_date":"January 2","mes":"Hello.","extra":{"api":"x"}}"#,
        "\n",
        r#"{"name":"Mira","is_user":true,"is_system":false,"mes":"Hm.","force_avatar":"a.png","extra":{}}"#,
        "\n",
        r#"{"name":"Torvald","is_user":false,"is_system":false,"mes":"Two","extra":{},"swipes":["One","Two"],"swipe_id":1}"#,
        "\n",
        r#"{"name":"System","is_user":false,"is_system":false,"mes":"Night falls.","extra":{"type":"narrator"}}"#,
        "\n",
        r#"{"name":"Mira","is_user":true,"is_system":true,"mes":"(aside)","extra":{}}"#,
        "\n",
    );

    fn read(text: &str) -> ImportedChat {
        import_chat(text.as_bytes(), &Limits::default()).unwrap()
    }

    #[test]
    fn a_chat_comes_out_as_it_was_read() {
        assert_eq!(export_sillytavern(&read(CHAT)), CHAT);
    }

    #[test]
    fn a_chat_made_here_is_read_back_the_same() {
        let mut chat = read(CHAT);
        chat.user_name = None;
        for one in &mut chat.messages {
            if one.message.is_narration() {
                one.message.role = Role::System;
            }
            one.message.extensions = Map::new().into();
        }
        let again = read(&export_sillytavern(&chat));
        let said = |chat: &ImportedChat| {
            let messages = chat.messages.iter();
            let said = messages.map(|one| (one.message.role, one.swipes.clone(), one.chosen));
            said.collect::<Vec<_>>()
        };
        chat.messages[3].message.role = Role::Assistant;
        assert_eq!(said(&again), said(&chat));
        assert!(again.messages[3].message.is_narration(), "a narrator stays a narrator");
        assert_eq!(again.user_name, None);
    }

    #[test]
    fn markdown_has_names_and_leaves_hidden_messages_out() {
        let expected = "# The inn\n\n**Torvald**\n\nHello.\n\n**Mira**\n\nHm.\n\n\
            **Torvald**\n\nTwo\n\nNight falls.\n";
        assert_eq!(export_markdown(&read(CHAT), "The\n inn"), expected);
    }
}
