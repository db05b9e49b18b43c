use super::*;

fn read(text: &str, rules: &NoteRules) -> NoteRead {
    read_note(NoteFile { vault: "v", path: "a/N.md", text }, rules)
}

#[test]
fn our_reader_takes_obsidian_at_its_word() {
    let text = "---\ntags: \"#lorebook, #npc\"\nkeys: [007, yes]\nrequires: \
                [\"[[Grey Harbour|harbour]]\"]\nera: [flood] # the first\n---\n# Ilka\nPilot.";
    let note = read(text, &NoteRules::default()).note.unwrap();
    assert_eq!(note.keys, ["007", "yes"]);
    assert_eq!(note.tags, ["npc"]);
    assert_eq!(note.relations.requires, ["Grey Harbour"]);
    assert_eq!(note.fields["era"], Value::from(vec!["flood"]));
    assert_eq!(note.id().as_str(), "v:a/N");
}

#[test]
fn a_note_that_is_not_yaml_is_not_lost() {
    let text = "---\ntags: [lorebook]\nsummary: Ilka: the pilot\n---\nPilot.";
    let read = read(text, &NoteRules::default());
    let codes: Vec<&str> = read.warnings.iter().map(|warning| warning.code.code()).collect();
    assert_eq!(codes, ["W_NOT_YAML"]);
    assert_eq!(read.note.unwrap().summary, "Ilka: the pilot");
}

#[test]
fn numbers_in_quotes_are_read_as_javascript_reads_them() {
    for (value, priority, cooldown) in [
        ("\"0b11\"", 3.0, Some(3.0)),
        ("\"0o7\"", 7.0, Some(7.0)),
        ("\"0x1FFFFFFFF\"", 8_589_934_591.0, Some(8_589_934_591.0)),
        ("\"-Infinity\"", f64::MIN, None),
        ("\"Infinity\"", f64::MAX, Some(f64::MAX)),
        ("\"soon\"", 100.0, None),
    ] {
        let text = format!("---\ntags: [lorebook]\npriority: {value}\ncooldown: {value}\n---\n");
        for rules in [NoteRules::default(), NoteRules::deeplore_2()] {
            let note = read(&text, &rules).note.unwrap();
            assert_eq!((note.priority, note.cooldown), (priority, cooldown), "{value}");
        }
    }
    let text = "---\ntags: [lorebook]\nprobability: \"-Infinity\"\nsummary: -0\n---\n";
    let note = read(text, &NoteRules::deeplore_2()).note.unwrap();
    assert_eq!((note.probability, note.summary.as_str()), (Some(0.0), "0"));
}

#[test]
fn an_empty_text_is_a_key_only_to_deeplore() {
    for keys in ["keys: \"\"", "keys: |"] {
        let text = format!("---\ntags: [lorebook]\n{keys}\nsummary: x\n---\nb");
        let keys = |rules: &NoteRules| read(&text, rules).note.unwrap().keys;
        assert_eq!(keys(&NoteRules::default()), [] as [&str; 0]);
        assert_eq!(keys(&NoteRules::deeplore_2()), [""]);
    }
}

#[test]
fn a_heading_of_blanks_is_no_title() {
    let text = "---\ntags: [lorebook]\n---\n#  ";
    assert_eq!(read(text, &NoteRules::default()).note.unwrap().title, "N");
    assert_eq!(read(text, &NoteRules::deeplore_2()).note, Err(Skip::EmptyTitle));
}

#[test]
fn a_file_that_is_no_lore_says_why() {
    for (text, skip) in [
        ("text", Skip::NoFrontmatter),
        ("---\na: 1\n---\n", Skip::NoLoreTag),
        ("---\ntags: lorebook\nenabled: false\n---\n", Skip::Disabled),
        ("---\ntags: [lorebook, lorebook-never]\n---\n", Skip::NeverTag),
    ] {
        assert_eq!(read(text, &NoteRules::deeplore_2()).note, Err(skip));
    }
}
