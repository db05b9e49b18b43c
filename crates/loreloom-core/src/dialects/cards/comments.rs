//! Macros that are not for every reader: comments, which no key may match, and hidden
//! keys, which only keys see.

use std::borrow::Cow;

use crate::macros;

/// A text without some of its macros, and the old positions of its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cuts(Vec<(usize, usize)>);

impl Cuts {
    /// The byte of the uncut text that byte `at` of the cut one was.
    pub(super) fn uncut(&self, at: usize) -> usize {
        let cut = self.0.iter().take_while(|(start, _)| *start <= at);
        at + cut.map(|(_, length)| length).sum::<usize>()
    }
}

/// What a text hides for keys only, each on a line of its own.
pub(super) fn hidden_keys(text: &str) -> String {
    let mut hidden = String::new();
    for (start, _) in text.match_indices("{{") {
        let Some(length) = macros::macro_length(&text[start..]) else { continue };
        let inner = &text[start + 2..start + length - 2];
        if let "hidden_key" | "hiddenkey" = name(inner).as_str()
            && let Some(at) = inner.find([':', ' '])
        {
            hidden.push('\n');
            hidden.push_str(inner[at..].trim_start_matches([':', ' ']));
        }
    }
    hidden
}

/// A text as keys see it.
pub(super) fn without_comments(text: &str) -> (Cow<'_, str>, Cuts) {
    let is_cut = |name: &str| name.starts_with("//") || name == "comment";
    let mut cuts = Cuts::default();
    if !text.contains("{{") {
        return (Cow::Borrowed(text), cuts);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(start) = text[from..].find("{{").map(|at| at + from) {
        let length = macros::macro_length(&text[start..]);
        let cut = length.filter(|length| is_cut(&name(&text[start + 2..start + length - 2])));
        if let Some(length) = cut {
            out.push_str(&text[from..start]);
            cuts.0.push((out.len(), length));
            from = start + length;
        } else {
            out.push_str(&text[from..start + 2]);
            from = start + 2;
        }
    }
    out.push_str(&text[from..]);
    (Cow::Owned(out), cuts)
}

/// The name of a macro, in lower case.
fn name(inner: &str) -> String {
    let inner = inner.trim_start();
    if inner.starts_with("//") {
        return "//".to_owned();
    }
    let end = inner.find([':', ' ']).unwrap_or(inner.len());
    inner[..end].trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_bytes_are_found_again() {
        let (text, cuts) = without_comments("a {{// bell }}b{{comment: x}} bell {{user}}");
        assert_eq!(text, "a b bell {{user}}");
        for (at, uncut) in [(0, 0), (1, 1), (2, 14), (4, 30)] {
            assert_eq!(cuts.uncut(at), uncut, "{at}");
        }
        assert_eq!(hidden_keys("x{{hidden_key: bell}}y{{HiddenKey::z}} {{user}}"), "\nbell\nz");
        assert_eq!(without_comments("{{// open").0, "{{// open");
    }
}
