//! Wrappers that a model repeats in its reply are taken out before the reply enters the
//! story.
//!
//! A mark is never story, so marks go, alone or in pairs. What is between them is the
//! model's own text unless it is an entry word for word, so only such an entry goes with
//! its marks; all other text stays, with its escapes undone. A closing mark that is made
//! of signs only, such as `***`, goes only with its opening: stories use it too.
//!
//! The result depends on the reply, the books and the names alone, not on the turn, and
//! stripping it again changes nothing. So a front end that sends the reply back as the
//! model wrote it still continues the same story. The price: an entry whose macros roll or
//! print the time is not recognised, and only its marks go.

use std::borrow::Cow;

use super::{
    format::WrapFormat,
    frame::{Frame, WrappedEntry},
    read::Unwrapped,
};
use crate::{
    dialects::worldinfo,
    engine::render::LoreScripts,
    library::{EntryIx, Library},
    macros::MacroValues,
    rules::Rules,
};

/// Taking marks out can join others; more often than this only text made for it does.
const MOST_PASSES: usize = 32;

/// A reply without the wrappers it repeats. `is_lore` says whether an entry between marks
/// is one of the books'.
pub fn strip<'text>(
    text: &'text str,
    format: &WrapFormat,
    is_lore: &dyn Fn(&Unwrapped) -> bool,
) -> Cow<'text, str> {
    let mut text = Cow::Borrowed(text);
    let Some(frame) = format.frame() else { return text };
    for _ in 0..MOST_PASSES {
        let Some(stripped) = pass(&text, frame, is_lore) else { break };
        text = Cow::Owned(stripped);
    }
    text
}

/// A reply without the wrappers it repeats, and without entries of the library that it
/// repeats in them under their name.
pub fn strip_echo<'text>(
    text: &'text str,
    rules: &Rules,
    library: &Library,
    macros: &MacroValues<'_>,
) -> Cow<'text, str> {
    let scripts = LoreScripts::all(rules);
    strip(text, &rules.wrap, &|entry| {
        let content = entry.content.trim();
        let mut all = (0..library.len()).map(EntryIx::at);
        all.any(|ix| {
            // A name is compared at once; making the text may take scripts.
            if entry.fields.name().is_some_and(|name| name != library.entry(ix).title()) {
                return false;
            }
            let sent = worldinfo::sent_text(library, ix, &scripts, macros);
            sent.trim() == content
        })
    })
}

/// One pass; `None` if there was nothing to take out.
fn pass(text: &str, frame: Frame<'_>, is_lore: &dyn Fn(&Unwrapped) -> bool) -> Option<String> {
    let (open, close) = frame.marks();
    let mut out = String::new();
    let (mut taken, mut from, mut changed) = (0, 0, false);
    let (mut opening, mut closing) = (open.find(text), close.find(text));
    loop {
        // A mark is looked for again only once it has been passed.
        for (mark, place) in [(open, &mut opening), (close, &mut closing)] {
            if place.is_some_and(|at| at < from) {
                *place = mark.find(&text[from..]).map(|at| from + at);
            }
        }
        let Some(at) = opening.into_iter().chain(closing).min() else { break };
        let mark = if opening == Some(at) {
            opened(text, frame, at, is_lore)
        } else {
            let mark = closed(text, frame, taken, at).filter(|_| close.speaks());
            mark.ok_or(at + text[at..].chars().next().map_or(1, char::len_utf8))
        };
        let mark = match mark {
            Ok(mark) => mark,
            Err(on) => {
                from = on;
                continue;
            }
        };
        changed = true;
        out.push_str(&text[taken..mark.start]);
        let mut end = mark.end;
        match mark.instead {
            Some(content) => out.push_str(&content),
            // A block that filled whole lines leaves no empty line behind.
            None if out.is_empty() || out.ends_with('\n') => {
                let rest = text[end..].trim_start_matches(['\r', '\n']);
                end = text.len() - rest.len();
            }
            None => {}
        }
        if mark.block && end == text.len() {
            out.truncate(out.trim_end_matches(['\r', '\n']).len());
        }
        (taken, from) = (end, end);
    }
    out.push_str(&text[taken..]);
    changed.then_some(out)
}

/// Something to take out: what is put there instead, and whether it was a whole entry.
struct Removal {
    start: usize,
    end: usize,
    instead: Option<String>,
    block: bool,
}

/// What is at an opening mark, or where to look on.
fn opened(
    text: &str,
    frame: Frame<'_>,
    at: usize,
    is_lore: &dyn Fn(&Unwrapped) -> bool,
) -> Result<Removal, usize> {
    if let Ok(WrappedEntry { fields, content, end }) = frame.read_block(text, at) {
        let entry = Unwrapped { fields, content };
        let lore = is_lore(&entry);
        let instead = (!lore).then_some(entry.content);
        return Ok(Removal { start: at, end, instead, block: lore });
    }
    let (_, end) = frame.read_open(text, at)?;
    Ok(Removal { start: at, end, instead: Some(String::new()), block: false })
}

fn closed(text: &str, frame: Frame<'_>, from: usize, at: usize) -> Option<Removal> {
    let (start, end, _) = frame.read_close(text, from, at)?;
    Some(Removal { start, end, instead: Some(String::new()), block: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wrap::XmlDetail;

    fn stripped(format: &WrapFormat, text: &str) -> String {
        strip(text, format, &|entry| entry.content == "The bell is cracked.").into_owned()
    }

    #[test]
    fn marks_go_and_the_models_own_words_stay() {
        let xml = WrapFormat::Xml(XmlDetail::Standard);
        for (format, text, kept) in [
            (&xml, "She nods.", "She nods."),
            (
                &xml,
                "<lorebook name=\"Bell\">\nThe bell is cracked.\n</lorebook>\n\nShe nods.",
                "She nods.",
            ),
            (
                &xml,
                "She nods.\n\n<lorebook name=\"Bell\" key=\"bell\">\nThe bell is cracked.\n</lorebook>",
                "She nods.",
            ),
            (&xml, "One.\n<lorebook>\nThe bell is cracked.\n</lorebook>\nTwo.", "One.\nTwo."),
            (&xml, "<lorebook name=\"Reply\">\nShe nods.\n</lorebook>", "She nods."),
            (&xml, "She nods.\n</lorebook>", "She nods."),
            (&xml, "<lorebook name=\"x\">\nShe nods.", "She nods."),
            (&xml, "<lore<lorebook>book>She nods.", "She nods."),
            (&xml, "<lorebook>\na &lt;/lorebook> b\n</lorebook>", "a  b"),
            (&xml, "A <lorebooks> and <b>x</b>", "A <lorebooks> and <b>x</b>"),
            (&WrapFormat::Lb, "Yes. [LB:Bell]The bell is cracked.[/LB] Go.", "Yes.  Go."),
            (&WrapFormat::Lb, "[LB:Me]Yes.[/LB] [LB", "Yes. [LB"),
            (&WrapFormat::WorldInfo, "[World Info: A]\nYes.\n[/World Info]", "Yes."),
            (&WrapFormat::Markdown, "### Lore: A\nYes.\n***\nNo.\n***\nOn.", "Yes.\nNo.\n***\nOn."),
            (&WrapFormat::None, "<lorebook>x</lorebook>", "<lorebook>x</lorebook>"),
        ] {
            assert_eq!(stripped(format, text), kept, "{text}");
            assert_eq!(stripped(format, kept), kept, "again: {text}");
        }
    }
}
