//! Notes that the writing model leaves for itself inside its replies.

use super::truncate::squeeze_lines;

/// A reply without its notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The notes, one after the other; `None` if there are none.
    pub notes: Option<String>,
    /// The reply for people to read.
    pub reply: String,
}

/// Cuts `<tag>` blocks out of a reply. A reply whose blocks are all blank stays as it is.
pub fn extract_notes(reply: &str, tag: &str) -> Extracted {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let (mut notes, mut rest) = (Vec::new(), String::new());
    let mut left = reply;
    while let Some(start) = left.find(&open) {
        let inside = &left[start + open.len()..];
        let Some(end) = inside.find(&close) else { break };
        let note = inside[..end].trim();
        if !note.is_empty() {
            notes.push(note);
        }
        rest.push_str(&left[..start]);
        left = &inside[end + close.len()..];
    }
    if notes.is_empty() {
        return Extracted { notes: None, reply: reply.to_owned() };
    }
    rest.push_str(left);
    let reply = squeeze_lines(&rest).trim_end().to_owned();
    Extracted { notes: Some(notes.join("\n")), reply }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_leave_the_reply_and_blank_ones_leave_it_alone() {
        for (reply, notes, rest) in [
            ("A <n>x</n>\n\n\n\n<n> y </n> ", Some("x\ny"), "A"),
            ("A <n> </n> b", None, "A <n> </n> b"),
            ("A <n>open", None, "A <n>open"),
        ] {
            let extracted = extract_notes(reply, "n");
            assert_eq!((extracted.notes.as_deref(), extracted.reply.as_str()), (notes, rest));
        }
    }
}
