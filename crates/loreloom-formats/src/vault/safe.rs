//! Making text of unknown origin safe to write into somebody's vault.

/// A file name for a title: without what file systems refuse.
pub fn file_name(title: &str) -> String {
    let refused = |c: char| "<>:\"/\\|?*".contains(c) || c.is_control();
    let name: String = title.chars().map(|c| if refused(c) { '_' } else { c }).collect();
    let name = name.trim_start_matches('.').trim_end_matches('.').trim_end();
    if name.is_empty() {
        return "Untitled".to_owned();
    }
    if is_device(name) { format!("_{name}") } else { name.to_owned() }
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
    let text = cut(text, "{{", "}}", |inside| !keep.contains(&inside.trim()));
    let text = cut(&text, "<%", "%>", |_| true);
    let text = cut(&text, "%%", "%%", |_| true);
    let text = cut(&text, "`=", "`", |inside| inside.starts_with(char::is_whitespace));
    let text = cut(&text, "```", "```", is_run);
    unlink(&text)
}

/// Whether a fenced block is run by a plugin.
fn is_run(block: &str) -> bool {
    let language = block.split('\n').next().unwrap_or_default().trim();
    let runs = ["dataview", "dataviewjs", "button", "customjs"];
    block.contains('\n') && runs.iter().any(|one| language.eq_ignore_ascii_case(one))
}

/// Cuts what stands between two marks, with the marks, if `goes` says so.
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
        ] {
            assert_eq!(plain_markdown(text, &["user", "char"]), plain, "{text}");
        }
    }
}
