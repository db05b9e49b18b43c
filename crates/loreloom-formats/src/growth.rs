//! Readers take time that grows with a file, whatever is in it.
//!
//! Each reader gets large texts of the signs that it looks for. One that goes through the rest
//! of the text at each sign would take hours for them.

use loreloom_core::{
    book::{Book, Entry, Key},
    library::Library,
    macros::MacroValues,
    regex_script::RegexScript,
    rules::Rules,
    scan::Steps,
};

use crate::{
    ImportOptions, Limits,
    chat::import_chat,
    decorators::lift,
    import, lore_tests,
    vault::{
        Headings, NoteFile, NoteRules, YamlReader, clean, fault, links, odd_values, read_fields,
        read_note, repair,
    },
};

/// The length of the texts.
const LENGTH: usize = 40_000;

/// Signs that are repeated.
const SIGNS: [&str; 44] = [
    "[",
    "[[",
    "[[a",
    "[[a|",
    "![",
    "![[",
    "![a](",
    "]",
    "]]",
    "{",
    "{{",
    "{{a",
    "{{a::",
    "}}",
    "(",
    "<",
    "<div",
    "<!--",
    "%%",
    "%%a",
    "`",
    "```",
    "```\n",
    "~~~\n",
    "#",
    "# \n",
    "#a ",
    "\n",
    "\r\n",
    "- \n",
    "\"",
    "\\",
    "\\\"",
    "'",
    "@@",
    "@@a\n",
    "@@@depth 4\n",
    "---\n",
    "a: b\n",
    "a: [",
    "- - ",
    "&a *a ",
    "\u{2028}",
    "{{//",
];

/// What can stand before and after the signs.
const AROUND: [(&str, &str); 6] = [
    ("", ""),
    ("", "x]]"),
    ("", "x|]]"),
    ("---\ntags: [lorebook]\nkeys: [a]\n---\n", "\n"),
    ("---\ntags: [lorebook]\nkeys: ", "\n---\ntext"),
    ("---\ntags: [lorebook]\n", "\n---\ntext"),
];

fn texts() -> impl Iterator<Item = String> {
    AROUND.into_iter().flat_map(|(before, after)| {
        SIGNS
            .into_iter()
            .map(move |sign| format!("{before}{}{after}", sign.repeat(LENGTH / sign.len())))
    })
}

#[test]
fn notes_of_any_content_are_read_in_linear_time() {
    let rules = NoteRules::default();
    for text in texts() {
        let text = text.as_str();
        let file = NoteFile { vault: "", path: "a.md", text };
        drop(read_note(file, &rules));
        drop(links(text, Headings::default()));
        drop(clean(text, Headings::default()));
        drop(repair(file, &rules));
        let _fault = fault(text);
        drop(odd_values(text, &rules));
        drop(read_fields(text, YamlReader::Full));
    }
}

#[test]
fn books_chats_and_tests_of_any_content_are_read_in_linear_time() {
    let limits = Limits::default();
    for text in texts() {
        let json =
            serde_json::json!({"entries": {"0": {"uid": 0, "key": [text], "content": text}}});
        let card = serde_json::json!({"spec": "chara_card_v3", "spec_version": "3.0", "data": {
            "name": text, "description": text,
            "character_book": {"entries": [{"keys": [text], "content": text, "enabled": true, "insertion_order": 1, "use_regex": false}]}}});
        for bytes in [
            text.clone(),
            json.to_string(),
            card.to_string(),
            format!("{{\"entries\": {text}"),
            format!("{{\"entries\": {{\"0\": {{\"content\": \"{text}"),
        ] {
            drop(import(bytes.as_bytes(), &ImportOptions::new("b")));
            drop(import_chat(bytes.as_bytes(), &limits));
        }
        drop(lore_tests::read(&text));
    }
}

#[test]
fn entries_of_any_content_are_compiled_in_linear_time() {
    let macros = MacroValues::default();
    for text in texts() {
        let mut entry = Entry::new("e");
        entry.activation.keys = vec![Key::parse(&text), Key::parse(&format!("/{text}/"))];
        entry.content.clone_from(&text);
        drop(lift(&entry));
        let mut book = Book::new("b", "B");
        book.entries.push(entry);
        drop(Library::under([std::sync::Arc::new(book)], &Rules::default()));
        drop(macros.expand(&text));
        let script = serde_json::json!({"findRegex": "/x|\\[/g", "replaceString": text, "placement": [5], "promptOnly": true});
        let script: RegexScript = serde_json::from_value(script).unwrap();
        drop(script.apply("x", &macros, &Steps::default()));
    }
}
