//! Notes of any shape.

use proptest::prelude::*;

use super::*;

/// Pieces that readers look for, and text between them.
fn piece() -> impl Strategy<Value = String> {
    let marks = prop::sample::select(vec![
        "---\n",
        "---",
        "\n",
        "\r\n",
        "# ",
        "[[",
        "]]",
        "|",
        "![",
        "](",
        ")",
        "%%",
        "<div",
        ">",
        "```",
        "`=",
        "{{",
        "}}",
        "<%",
        "%>",
        "keys: [",
        "tags: [lorebook]\n",
        "- ",
        ": ",
        "\"",
        "'",
        "\\",
        "%%deeplore-exclude%%",
        "%%/deeplore-exclude%%",
        "](obsidian://",
        "\u{feff}",
        "é",
        "猫",
    ]);
    prop_oneof![3 => marks.prop_map(str::to_owned), 1 => "\\PC{0,6}"]
}

proptest! {
    #[test]
    fn no_text_breaks_a_reader(pieces in prop::collection::vec(piece(), 0..40)) {
        let text = pieces.concat();
        for rules in [NoteRules::default(), NoteRules::deeplore_2()] {
            let file = NoteFile { vault: "", path: "a/N.md", text: &text };
            let read = read_note(file, &rules);
            if let Ok(note) = read.note {
                prop_assert_eq!(note.content.trim(), note.content.as_str());
            }
        }
        for reader in [YamlReader::Full, YamlReader::Mini] {
            let _fields = read_fields(&text, reader);
        }
        let plain = plain_markdown(&text, &["user"]);
        prop_assert!(plain.len() <= text.len());
        prop_assert!(!file_name(&text).contains(['/', '\\', ':']));
    }
}
