//! Reading a wrapped prompt back.

use serde::Serialize;

use super::{field::WrapFields, format::WrapFormat, frame::Frame};

/// A piece of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Segment {
    /// Text outside all wrappers.
    Text {
        /// The text.
        text: String,
    },
    /// A wrapped entry.
    Entry(Unwrapped),
}

/// An entry read back from a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unwrapped {
    /// What its wrapper says.
    pub fields: WrapFields,
    /// Its text.
    pub content: String,
}

/// Splits a text into entries and what is between them. Every part of the text that is
/// no wrapper is kept; an opening without its closing is text.
pub fn unwrap<'a>(text: &str, formats: impl IntoIterator<Item = &'a WrapFormat>) -> Vec<Segment> {
    let frames: Vec<Frame<'a>> = formats.into_iter().filter_map(WrapFormat::frame).collect();
    // Where each format's next opening is.
    let next =
        |frame: &Frame<'_>, from: usize| frame.marks().0.find(&text[from..]).map(|at| from + at);
    let mut openings: Vec<Option<usize>> = frames.iter().map(|frame| next(frame, 0)).collect();
    let mut segments = Vec::new();
    let mut taken = 0;
    while let Some((which, at)) = openings
        .iter()
        .enumerate()
        .filter_map(|(which, at)| Some((which, (*at)?)))
        .min_by_key(|&(_, at)| at)
    {
        let frame = &frames[which];
        match frame.read_block(text, at) {
            Ok(block) => {
                push_text(&mut segments, &text[taken..at]);
                let (fields, content) = (block.fields, block.content);
                segments.push(Segment::Entry(Unwrapped { fields, content }));
                taken = block.end;
                for (frame, opening) in frames.iter().zip(&mut openings) {
                    if opening.is_some_and(|at| at < taken) {
                        *opening = next(frame, taken);
                    }
                }
            }
            Err(upto) => openings[which] = next(frame, upto),
        }
    }
    push_text(&mut segments, &text[taken..]);
    segments
}

fn push_text(segments: &mut Vec<Segment>, text: &str) {
    if !text.is_empty() {
        segments.push(Segment::Text { text: text.to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wrap::{WrapField, wrap};

    const FORMATS: [&str; 13] = [
        "xml-minimal",
        "xml-standard",
        "xml-detailed",
        "xml-maximum",
        "markdown",
        "lb",
        "world-info",
        "custom:<lore name=\"{{name}}\" keys='{{secondary}}'>\n{{content}}\n</lore>",
        "custom:<x>{{content}}</x {{name}}>",
        "custom:[[ {{name}} {{uid}} {{secondary}} ]]{{content}}-+{{key}}-+",
        "custom:# {{name}}\n{{uid}}\n\n{{content}}\n\n---\n({{key}})",
        "custom:⟦L:{{name}}⟧ {{content}} ⟪Ende⟫",
        "custom:lore> {{name}} : {{content}} :<end",
    ];

    fn entry(name: &str, secondary: Vec<String>, content: &str) -> Unwrapped {
        let mut fields = WrapFields::new();
        fields.set(WrapField::Name, name);
        fields.set(WrapField::Uid, "7");
        fields.set(WrapField::Key, "be]ll");
        fields.set_list(WrapField::Secondary, secondary);
        Unwrapped { fields, content: content.to_owned() }
    }

    fn written(format: &WrapFormat, entries: &[Unwrapped]) -> String {
        let texts: Vec<String> =
            entries.iter().map(|one| wrap(format, &one.fields, &one.content)).collect();
        texts.join("\n")
    }

    /// The fields that a format has of these entries.
    fn segments(format: &WrapFormat, entries: &[Unwrapped]) -> Vec<Segment> {
        let mut segments = Vec::new();
        for (at, one) in entries.iter().enumerate() {
            if at > 0 {
                segments.push(Segment::Text { text: "\n".to_owned() });
            }
            let fields = one.fields.only(&format.fields());
            segments.push(Segment::Entry(Unwrapped { fields, content: one.content.clone() }));
        }
        segments
    }

    fn assert_round_trip(entries: &[Unwrapped]) {
        for format in FORMATS {
            let format: WrapFormat = format.parse().unwrap();
            let text = written(&format, entries);
            assert_eq!(unwrap(&text, [&format]), segments(&format, entries), "{format}: {text:?}");
        }
    }

    #[test]
    fn hard_names_and_texts_come_back() {
        let hard = [
            "",
            " ",
            "\n",
            "a\nb",
            "\"quoted\" 'single' & <b>",
            "]]>",
            "]",
            "[",
            "\\",
            "\\n",
            "\\]",
            "</lorebook>",
            "&lt;/lorebook>",
            "&amp;lt;/lorebook>",
            "<lorebook name=\"x\">",
            "[/LB]",
            "[LB:x]",
            "[\\/LB]",
            "[/World Info]",
            "### Lore: x",
            "***",
            "\n***",
            "\n***\n",
            "\n\\***",
            "</lore>",
            "</x",
            "---\n",
            "\n\n---",
            "\n\n---\n(",
            "-+",
            " ⟪Ende⟫",
            "⟪",
            ":<end",
            " :<end",
            "日本語 🦀 e\u{301}",
            "\u{0}\u{1}",
            "\r\n",
            "a,b",
            "{{name}}",
            "&#xA;",
            "\u{feff}",
        ];
        for name in hard {
            for content in hard.into_iter().filter(|content| !content.is_empty()) {
                let secondary = vec![name.to_owned(), content.to_owned()];
                let twice = entry(name, secondary, content);
                assert_round_trip(&[twice.clone(), twice]);
            }
        }
        let long = "very long ]\n".repeat(10_000);
        assert_round_trip(&[entry(&long, Vec::new(), &long)]);
    }

    #[test]
    fn text_around_entries_is_kept_and_all_presets_are_read_at_once() {
        let presets = WrapFormat::presets();
        let text = "Intro.\n<lorebook name=\"A\">\na\n</lorebook>\n[LB:B]b[/LB] x [World Info: C]\nc\n[/World Info]\n### Lore: D\nd\n***\nEnd.";
        let read: Vec<(Option<String>, String)> = unwrap(text, &presets)
            .into_iter()
            .map(|segment| match segment {
                Segment::Text { text } => (None, text),
                Segment::Entry(one) => (one.fields.name().map(str::to_owned), one.content),
            })
            .collect();
        let expected = [
            (None, "Intro.\n"),
            (Some("A"), "a"),
            (None, "\n"),
            (Some("B"), "b"),
            (None, " x "),
            (Some("C"), "c"),
            (None, "\n"),
            (Some("D"), "d"),
            (None, "\nEnd."),
        ];
        let expected = expected.map(|(name, text)| (name.map(str::to_owned), text.to_owned()));
        assert_eq!(read, expected);
    }

    #[test]
    fn an_opening_without_its_closing_is_text() {
        for text in [
            "[LB:A]a [LB:B",
            "[LB:A",
            "[/LB]",
            "<lorebook name=\"A\">\na",
            "<lorebook name=\"A",
            "<lorebooks>x</lorebooks>",
            "### Lore: A\nb",
        ] {
            let whole = Segment::Text { text: text.to_owned() };
            assert_eq!(unwrap(text, &WrapFormat::presets()), [whole], "{text}");
        }
        let segments = unwrap("[LB:A]a [LB:B]b[/LB]", [&WrapFormat::Lb]);
        assert_eq!(segments.len(), 2);
        assert_eq!(segments[0], Segment::Text { text: "[LB:A]a ".to_owned() });
    }

    fn tricky() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<String>(),
            "[\\[\\]<>/\\\\&;:*#\\-\\n \"',a]{0,8}",
            prop::sample::select(vec![
                "</lorebook>",
                "<lorebook",
                "[/LB]",
                "[LB:",
                "[\\/LB]",
                "\n***",
                "&lt;/lorebook>",
                "[/World Info]",
                "[World Info: ",
                "### Lore: ",
                "]]>",
                "</lore>",
                "</x ",
                "-+",
                "\n\n---",
                " ⟪Ende⟫",
                " :<end",
                "lore> ",
                "\\",
                "&amp;",
                "日本",
            ])
            .prop_map(str::to_owned),
        ];
        prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn what_is_wrapped_can_be_unwrapped(
            entries in prop::collection::vec(
                (tricky(), prop::collection::vec(tricky(), 0..3), tricky()), 1..4,
            ),
        ) {
            let entries: Vec<Unwrapped> = entries
                .into_iter()
                .filter(|(_, _, content)| !content.is_empty())
                .map(|(name, keys, content)| entry(&name, keys, &content))
                .collect();
            assert_round_trip(&entries);
        }

        #[test]
        fn any_text_can_be_read_and_stripped(text in tricky()) {
            for format in FORMATS {
                let format: WrapFormat = format.parse().unwrap();
                let once = crate::wrap::strip(&text, &format, &|_| false).into_owned();
                let again = crate::wrap::strip(&once, &format, &|_| false).into_owned();
                prop_assert_eq!(once, again);
                unwrap(&text, [&format]);
            }
        }
    }
}
