//! Chats, notes, decorators, wrapped prompts and regex scripts.

use loreloom_core::{
    dialects::cards::{Grammar, split as split_block},
    regex_script::RegexScript,
    wrap::{Segment, WrapFields, WrapFormat, strip, unwrap, wrap},
};
use loreloom_formats::{
    Limits,
    chat::import_chat,
    decorators,
    vault::{
        FieldFile, Headings, NoteFile, NoteRules, YamlReader, clean, file_name, links,
        plain_markdown, read_fields, read_note, split, title,
    },
};

/// Any bytes as a chat: an error or messages whose chosen version exists.
pub fn chats(bytes: &[u8]) -> bool {
    if let Ok(chat) = import_chat(bytes, &Limits::default()) {
        for message in chat.messages {
            assert!(message.swipes.is_empty() || message.chosen < message.swipes.len());
        }
    }
    true
}

/// Any text as a note, by each reader.
pub fn notes(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    for rules in [NoteRules::default(), NoteRules::deeplore_2(), NoteRules::deeplore_2_0()] {
        let file = NoteFile { vault: "v", path: "folder/Note.md", text };
        let read = read_note(file, &rules);
        assert_eq!(read_note(file, &rules), read, "reading is a function of the file");
    }
    for reader in [YamlReader::Full, YamlReader::Mini] {
        let front = split(text, reader);
        assert!(text.ends_with(front.body), "the body is the end of the file");
        let _fields: FieldFile = read_fields(text, reader);
    }
    for headings in [Headings::OnOneLine, Headings::AcrossLines] {
        let _read = (links(text, headings), clean(text, headings));
    }
    let name = file_name(&title(text, "Note.md", Headings::AcrossLines));
    assert!(!name.contains(['/', '\\', '\0']) && name != ".." && name != ".");
    let _plain = plain_markdown(text, &[]);
    true
}

/// Any text as decorators: by all grammars the body is a part of the text.
pub fn decorators(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    for grammar in [Grammar::default(), Grammar::card_v3(), Grammar::unorouter(), Grammar::risu()] {
        let block = split_block(text, grammar);
        assert!(text.contains(block.body));
    }
    let block = split_block(text, Grammar::default());
    assert!(!block.body.trim_start().starts_with("@@"), "decorators never reach the model");
    let mut entry = loreloom_core::book::Entry::new("book/0");
    text.clone_into(&mut entry.content);
    let lifted = decorators::lift(&entry);
    let twice = decorators::lift(&lifted.entry);
    assert_eq!(twice.entry.activation, lifted.entry.activation, "lifting is done in one go");
    true
}

/// Any text as a prompt: nothing outside wrappers is lost, and what is wrapped comes back.
pub fn wrapping(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let mut formats: Vec<WrapFormat> = WrapFormat::presets().into();
    formats.extend(
        ["xml-minimal", "xml-maximum", "markdown", "lb", "world-info"]
            .iter()
            .filter_map(|name| name.parse().ok()),
    );
    let (template, content) = text.split_once('\0').unwrap_or(("", text));
    formats.extend(format!("custom:{template}").parse().ok());
    for format in &formats {
        let segments = unwrap(text, [format]);
        let kept: usize = segments
            .iter()
            .map(|segment| match segment {
                Segment::Text { text } => text.len(),
                Segment::Entry(_) => 0,
            })
            .sum();
        assert!(kept <= text.len());
        let _stripped = strip(text, format, &|_| false);
        // Nothing is not wrapped.
        if format.is_none() || content.is_empty() {
            continue;
        }
        let wrapped = wrap(format, &WrapFields::new(), content);
        let again = unwrap(&wrapped, [format]);
        let found = again.iter().find_map(|segment| match segment {
            Segment::Entry(entry) => Some(entry.content.as_str()),
            Segment::Text { .. } => None,
        });
        assert_eq!(found, Some(content), "{format:?} of {content:?} was {wrapped:?}");
    }
    true
}

/// Any JSON as a regex script, run on its own text.
pub fn regex_scripts(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(script) = serde_json::from_str::<RegexScript>(text) else { return true };
    let again = serde_json::to_string(&script).and_then(|json| serde_json::from_str(&json));
    assert_eq!(again.ok().as_ref(), Some(&script), "scripts come back as they were");
    let macros = loreloom_core::macros::MacroValues::default();
    let _applied = script.apply(text, &macros, &loreloom_core::scan::Steps::default());
    true
}
