//! `OpenAI` messages: a list of `{role, content}`, or a request that holds one.

use loreloom_core::{
    book::Extensions,
    chat::{Message, Role},
};

use super::{ChatFormat, ImportedChat, ImportedMessage, unknown_keys};
use crate::{
    detect,
    error::FormatError,
    json::{Json, Node},
};

/// Reads the messages of a list or a request.
pub(super) fn read(root: &Node<'_>) -> Result<ImportedChat, FormatError> {
    let list = if root.is_array() { Some(root) } else { root.get("messages") };
    let rows = list.map_or(&[][..], Node::items);
    if !list.is_some_and(Node::is_array) || rows.iter().any(|row| row.get("role").is_none()) {
        return Err(FormatError::Unknown {
            looked_for: "lines with `mes`, or `messages` with `role` and `content`",
            found: detect::shown_keys(root),
        });
    }
    let messages =
        rows.iter().enumerate().map(|(at, row)| message(row, at)).collect::<Result<_, _>>()?;
    let metadata =
        if root.is_array() { Extensions::new() } else { unknown_keys(root, &["messages"]) };
    Ok(ImportedChat {
        format: ChatFormat::OpenAi,
        user_name: None,
        character_name: None,
        messages,
        metadata,
        notes: Vec::new(),
    })
}

fn message(row: &Node<'_>, at: usize) -> Result<ImportedMessage, FormatError> {
    let wrong = |field, expected, node: Option<&Node<'_>>| FormatError::Field {
        place: format!("message {at}"),
        field,
        expected,
        found: node.map_or_else(|| "nothing".to_owned(), Node::shown),
    };
    let node = row.get("role");
    let role = match node.and_then(Node::as_str) {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool" | "function") => Role::Tool,
        _ => return Err(wrong("role", "`system`, `user`, `assistant` or `tool`", node)),
    };
    let content = row.get("content");
    let text = content.map_or(Some(String::new()), text_of);
    let text = text.ok_or_else(|| wrong("content", "text or a list of parts", content))?;
    let name = row.get("name").and_then(Node::as_str);
    let mut message = Message::new(role, name, text);
    message.extensions = unknown_keys(row, &["role", "content", "name"]).into();
    // Pictures and sound are not text; the parts stay as they are for sending on.
    if let Some(parts) = content.filter(|content| content.items().iter().any(|part| !is_text(part)))
    {
        message.extensions.insert("content".to_owned(), parts.to_value());
    }
    Ok(ImportedMessage::new(message))
}

fn is_text(part: &Node<'_>) -> bool {
    part.as_str().is_some() || part.get("text").is_some_and(|text| text.as_str().is_some())
}

/// The text of a content: itself, or its text parts one below the other.
fn text_of(content: &Node<'_>) -> Option<String> {
    match &content.value {
        Json::Null => Some(String::new()),
        Json::String(text) => Some(text.as_ref().to_owned()),
        Json::Array(parts) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| {
                    part.as_str().or_else(|| part.get("text").and_then(Node::as_str))
                })
                .collect();
            Some(texts.join("\n"))
        }
        Json::Bool(_) | Json::Number(_) | Json::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chat::import_chat, limits::Limits};

    fn read(text: &str) -> Result<ImportedChat, FormatError> {
        import_chat(text.as_bytes(), &Limits::default())
    }

    #[test]
    fn a_request_keeps_its_other_fields_and_parts() {
        let chat = read(
            r#"{"model":"m","messages":[
              {"role":"developer","content":"Rules."},
              {"role":"user","name":"Mira","content":[{"type":"text","text":"Look"},{"type":"image_url","image_url":{"url":"data:"}},{"type":"text","text":"here"}]},
              {"role":"assistant","content":null,"tool_calls":[{"id":"1"}]},
              {"role":"tool","tool_call_id":"1","content":"42"}]}"#,
        )
        .unwrap();
        assert_eq!(chat.metadata["model"], "m");
        let rows: Vec<_> = chat
            .messages
            .iter()
            .map(|row| (row.message.role, row.message.name.as_deref(), row.message.text.as_str()))
            .collect();
        assert_eq!(
            rows,
            [
                (Role::System, None, "Rules."),
                (Role::User, Some("Mira"), "Look\nhere"),
                (Role::Assistant, None, ""),
                (Role::Tool, None, "42"),
            ]
        );
        assert_eq!(chat.messages[1].message.extensions["content"][1]["type"], "image_url");
        assert_eq!(chat.messages[2].message.extensions["tool_calls"][0]["id"], "1");
    }

    #[test]
    fn a_bare_list_is_a_chat_and_faults_name_the_message() {
        assert_eq!(read(r#"[{"role":"user","content":"Hi"}]"#).unwrap().messages.len(), 1);
        for (json, expected) in [
            (
                r#"[{"role":"bot","content":"Hi"}]"#,
                "message 0: `role` must be `system`, `user`, `assistant` or `tool`, found \"bot\"",
            ),
            (
                r#"[{"role":"user","content":""},{"role":"user","content":7}]"#,
                "message 1: `content` must be text or a list of parts, found 7",
            ),
        ] {
            assert_eq!(read(json).unwrap_err().to_string(), expected);
        }
    }
}
