//! Putting right in a note's file what reading it puts right anyway.
//!
//! Only lines of the fields change, one at a time, and only if the note then reads exactly as
//! it did: a repair never changes what a note means.

use loreloom_core::dialects::vault::Note;

use super::{NoteFile, NoteRead, NoteRules, NoteWarning, WarningCode, read_note};

/// The file with what can be repaired put right; `None` if nothing can.
pub fn repair(file: NoteFile<'_>, rules: &NoteRules) -> Option<String> {
    let mut text = file.text.to_owned();
    let before = read(NoteFile { text: &text, ..file }, rules)?;
    let mut repaired = false;
    for warning in &before.warnings {
        let Some(changed) = without(&text, warning) else { continue };
        let Some(after) = read(NoteFile { text: &changed, ..file }, rules) else { continue };
        if after.note == before.note && after.warnings.len() < before.warnings.len() {
            text = changed;
            repaired = true;
        }
    }
    repaired.then_some(text)
}

struct RepairedText {
    note: Note,
    warnings: Vec<NoteWarning>,
}

/// The note without the fields that identify its file.
fn read(file: NoteFile<'_>, rules: &NoteRules) -> Option<RepairedText> {
    let NoteRead { note, warnings } = read_note(file, rules);
    let mut note = *note.ok()?;
    note.hash = loreloom_core::ids::Digest::default();
    Some(RepairedText { note, warnings })
}

/// The text with one line rewritten so that a warning goes away.
fn without(text: &str, warning: &NoteWarning) -> Option<String> {
    let (start, end) = line_of(text, &warning.field)?;
    let (name, value) = text[start..end].split_once(':')?;
    let ending = &value[value.trim_end().len()..];
    let line = match warning.code {
        WarningCode::AliasUsed => {
            let canonical = NoteRules::canonical(name)?;
            format!("{canonical}:{value}")
        }
        WarningCode::CoercedNumber => {
            let number = value.trim().trim_matches(['"', '\'']).trim();
            number.parse::<f64>().ok()?;
            format!("{name}: {number}{ending}")
        }
        WarningCode::CommaSplit => {
            let items = value.trim().trim_matches(['"', '\'']).split(',').map(str::trim);
            let items: Vec<String> = items.filter(|item| !item.is_empty()).map(quoted).collect();
            format!("{name}: [{}]{ending}", items.join(", "))
        }
        WarningCode::Invalid
        | WarningCode::NotImplemented
        | WarningCode::RoundTrip
        | WarningCode::NotYaml => return None,
    };
    Some(format!("{}{line}{}", &text[..start], &text[end..]))
}

/// Where the line of a field lies, with its line end.
fn line_of(text: &str, field: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number > 0 && line.trim_end() == "---" {
            return None;
        }
        let is_field = line.split_once(':').is_some_and(|(name, _)| name.trim_end() == field);
        if is_field {
            return Some((at, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// An item of a list. Words need no quotes; anything that could mean something has them.
fn quoted(item: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    let starts = item.chars().next().is_some_and(char::is_alphabetic);
    let words = ["true", "false", "null", "yes", "no", "on", "off"];
    if starts && item.chars().all(plain) && !words.contains(&item.to_lowercase().as_str()) {
        return item.to_owned();
    }
    format!("\"{}\"", item.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_need_it_change() {
        let text = "---\ntags: [lorebook]\r\nKeys: bell, king's \"road\", 12\npriority: \"7\"\n\
                    Summary: x\n---\nKeys: a, b\n";
        let file = NoteFile { vault: "", path: "A.md", text };
        let rules = NoteRules::default();
        let repaired = repair(file, &rules).unwrap();
        assert_eq!(
            repaired,
            "---\ntags: [lorebook]\r\nkeys: [bell, \"king's \\\"road\\\"\", \"12\"]\npriority: 7\n\
             summary: x\n---\nKeys: a, b\n"
        );
        let again = NoteFile { text: &repaired, ..file };
        assert_eq!(read_note(again, &rules).warnings, []);
        assert_eq!(repair(again, &rules), None);
    }

    #[test]
    fn what_would_change_its_meaning_is_left_alone() {
        let text = "---\ntags: [lorebook]\nKEYS: [a]\nkeys: [b]\nposition: nowhere\n---\nText.\n";
        let file = NoteFile { vault: "", path: "A.md", text };
        assert_eq!(repair(file, &NoteRules::default()), None);
    }
}
