//! Making text of unknown origin safe to write into somebody's vault.

use loreloom_core::book::is_js_space;

/// A file name for a title: without what file systems refuse.
pub fn file_name(title: &str) -> String {
    let refused = |c: char| "<>:\"/\\|?*".contains(c) || c.is_control();
    let title = title.trim_start_matches('.').trim_end_matches('.').trim_end_matches(is_js_space);
    let name: String = title.chars().map(|c| if refused(c) { '_' } else { c }).collect();
    if name.is_empty() {
        return "Untitled".to_owned();
    }
    if is_device(&name) { format!("_{name}") } else { name }
}

/// Names that Windows keeps for devices.
fn is_device(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| rest.len() == 1 && ('1'..='9').any(|digit| rest.starts_with(digit)))
    };
    matches!(name.as_str(), "CON" | "PRN" | "AUX" | "NUL") || numbered("COM") || numbered("LPT")
}

/// Text without what Obsidian or its plugins would run when the note is opened. Macros in
/// `keep`, such as `user`, are lore and stay.
pub fn plain_markdown(text: &str, keep: &[&str]) -> String {
    let mut text = without_closed_blocks(text, keep);
    // A block that nobody closes ends with the note, and runs all the same.
    if let Some(start) = run_block(&text) {
        text.truncate(start);
    }
    text
}

/// The same as far as DeepLore goes, which leaves a block in that is never closed.
pub fn without_closed_blocks(text: &str, keep: &[&str]) -> String {
    let text = cut(text, "{{", "}}", |inside| !keep.contains(&inside.trim()));
    let text = cut(&text, "<%", "%>", |_| true);
    let text = cut(&text, "%%", "%%", |_| true);
    let text = cut(&text, "`=", "`", |inside| inside.starts_with(is_js_space));
    unlink(&cut_run_blocks(&text))
}

/// Fenced blocks of these languages are run by a plugin.
const RUN: [&str; 4] = ["dataviewjs", "dataview", "button", "customjs"];

/// Where the first block begins that a plugin runs.
fn run_block(text: &str) -> Option<usize> {
    let mut fences = text.char_indices().filter(|(at, _)| text[*at..].starts_with("```"));
    fences.find(|(at, _)| is_run(&text[at + 3..])).map(|(at, _)| at)
}

/// Whether a plugin runs what a fence with this behind it opens. A fence counts anywhere
/// in the text: only Obsidian knows whether it opens or closes, and what is cut cannot be run.
fn is_run(behind: &str) -> bool {
    let is_language = |name: &str| {
        let written = behind.get(..name.len()).is_some_and(|one| one.eq_ignore_ascii_case(name));
        written && {
            let rest = &behind[name.len()..];
            let blanks = rest.len() - rest.trim_start_matches(is_js_space).len();
            rest[..blanks].contains('\n')
        }
    };
    RUN.into_iter().any(is_language)
}

/// Cuts blocks that a plugin runs, with their fences.
fn cut_run_blocks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut left = text;
    while let Some(start) = left.find("```") {
        let inside = &left[start + 3..];
        if let Some(end) = inside.find("```").filter(|_| is_run(inside)) {
            out.push_str(&left[..start]);
            left = &inside[end + 3..];
        } else {
            out.push_str(&left[..=start]);
            left = &left[start + 1..];
        }
    }
    out.push_str(left);
    out
}

/// Cuts the text between two marks, with the marks, if `goes` says so.
fn cut(text: &str, open: &str, close: &str, goes: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut left = text;
    while let Some(start) = left.find(open) {
        let inside = &left[start + open.len()..];
        let Some(end) = inside.find(close) else { break };
        let whole = start + open.len() + end + close.len();
        out.push_str(&left[..start]);
        if !goes(&inside[..end]) {
            out.push_str(&left[start..whole]);
        }
        left = &left[whole..];
    }
    out.push_str(left);
    out
}

/// Links that make Obsidian do something become their text.
fn unlink(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut left = text;
    while let Some(middle) = left.find("](obsidian://") {
        let shown = left[..middle].rfind('[').filter(|at| !left[*at..middle].contains(']'));
        let end = left[middle..].find(')').map(|end| middle + end + 1);
        if let (Some(at), Some(end)) = (shown, end) {
            out.push_str(&left[..at]);
            out.push_str(&left[at + 1..middle]);
            left = &left[end..];
        } else {
            out.push_str(&left[..middle + 2]);
            left = &left[middle + 2..];
        }
    }
    out.push_str(left);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_on_every_file_system() {
        for (title, name) in [
            (".A/B: \"C\"?..", "A_B_ _C__"),
            ("con", "_con"),
            ("LPT9", "_LPT9"),
            ("COM10", "COM10"),
            ("...", "Untitled"),
            ("a\0b\nc", "a_b_c"),
            ("Ørsted ", "Ørsted"),
            ("\t\n", "Untitled"),
            ("a.\u{feff}", "a."),
        ] {
            assert_eq!(file_name(title), name);
        }
    }

    #[test]
    fn what_would_run_goes_and_macros_of_the_story_stay() {
        for (text, plain) in [
            ("{{user}} {{date}} a", "{{user}}  a"),
            ("<% x %>%%c%%`= this.x` `=y`", " `=y`"),
            ("a ```dataview\nLIST\n``` b ```rust\nfn\n```", "a  b ```rust\nfn\n```"),
            ("[go](obsidian://open) [web](https://x)", "go [web](https://x)"),
            ("open {{", "open {{"),
            ("``` x ```dataview\nLIST\n``` end", "``` x  end"),
            ("````DataviewJS \nx\n````", "``"),
            ("```dataviewx\nx\n```", "```dataviewx\nx\n```"),
            ("a ```button\nnever closed", "a "),
        ] {
            assert_eq!(plain_markdown(text, &["user", "char"]), plain, "{text}");
        }
    }
}
