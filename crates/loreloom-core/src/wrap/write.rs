//! Writing one entry with its wrapper.

use std::sync::Arc;

use super::{field::WrapFields, format::WrapFormat};

/// An entry's text in its wrapper. An empty text stays empty.
pub fn wrap(format: &WrapFormat, fields: &WrapFields, content: &str) -> String {
    match format.frame() {
        Some(frame) if !content.is_empty() => frame.write(fields, content),
        Some(_) | None => content.to_owned(),
    }
}

/// The wrapper of an activated entry. What it says is settled when the entry is measured,
/// so that the budget counts what is sent.
#[derive(Clone, Debug)]
pub(crate) struct Wrapping {
    pub(crate) format: Arc<WrapFormat>,
    pub(crate) fields: WrapFields,
}

impl Wrapping {
    pub(crate) fn wrap(&self, content: &str) -> String {
        wrap(&self.format, &self.fields, content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wrap::WrapField;

    fn fields() -> WrapFields {
        let mut fields = WrapFields::new();
        for (field, text) in [
            (WrapField::Uid, "12"),
            (WrapField::Name, "The \"bell\" & co"),
            (WrapField::World, "Harrow"),
            (WrapField::Key, "bell"),
            (WrapField::Scan, "recursion"),
            (WrapField::ScanDepth, "4"),
            (WrapField::Iteration, "2"),
            (WrapField::Activation, "key"),
            (WrapField::Parents, "harrow/3"),
            (WrapField::ViaRecursion, "true"),
            (WrapField::Position, "at_depth"),
            (WrapField::Depth, "2"),
            (WrapField::Role, "system"),
            (WrapField::Tokens, "5"),
        ] {
            fields.set(field, text);
        }
        fields.set_list(WrapField::Secondary, ["rope", "a,b"].map(str::to_owned));
        fields.set_list(WrapField::MatchedIn, ["2", "5"].map(str::to_owned));
        fields.set_list(WrapField::TriggeredBy, ["assistant", "user"].map(str::to_owned));
        fields
    }

    #[test]
    fn every_format_writes_its_fields() {
        let standard = "name=\"The &quot;bell&quot; &amp; co\" key=\"bell\" secondary=\"rope,a\\,b\" scan=\"recursion\" scan_depth=\"4\"";
        let detail = "iteration=\"2\" activation=\"key\" matched_in=\"2,5\" triggered_by=\"assistant,user\" parents=\"harrow/3\" via_recursion=\"true\"";
        let (name, rest) = standard.split_once(" key").unwrap();
        let detailed = format!("uid=\"12\" {name} world=\"Harrow\" key{rest} {detail}");
        for (format, expected) in [
            ("none", "It is\ncracked.".to_owned()),
            ("xml-minimal", format!("<lorebook {name} key=\"bell\">\nIt is\ncracked.\n</lorebook>")),
            ("xml-standard", format!("<lorebook {standard}>\nIt is\ncracked.\n</lorebook>")),
            ("xml-detailed", format!("<lorebook {detailed}>\nIt is\ncracked.\n</lorebook>")),
            (
                "xml-maximum",
                format!(
                    "<lorebook {detailed} position=\"at_depth\" depth=\"2\" role=\"system\" tokens=\"5\">\nIt is\ncracked.\n</lorebook>"
                ),
            ),
            ("markdown", "### Lore: The \"bell\" & co\nIt is\ncracked.\n***".to_owned()),
            ("lb", "[LB:The \"bell\" & co]It is\ncracked.[/LB]".to_owned()),
            (
                "world-info",
                "[World Info: The \"bell\" & co]\nIt is\ncracked.\n[/World Info]".to_owned(),
            ),
            (
                "custom:<lore n='{{name}}' by='{{triggered_by}}' at='{{timestamp}}'>{{content}}</lore {{uid}}>",
                "<lore n='The &quot;bell&quot; &amp; co' by='assistant,user' at=''>It is\ncracked.</lore 12>"
                    .to_owned(),
            ),
        ] {
            let format: WrapFormat = format.parse().unwrap();
            assert_eq!(wrap(&format, &fields(), "It is\ncracked."), expected);
        }
    }

    #[test]
    fn marks_in_a_text_are_escaped_and_nothing_else() {
        for (format, text, expected) in [
            ("lb", "a [/LB] [b]", "[LB:]a [\\/LB] [b][/LB]"),
            (
                "xml-minimal",
                "<b>&amp;</b></lorebook><lorebook x>",
                "<lorebook>\n<b>&amp;</b>&lt;/lorebook>&lt;lorebook x>\n</lorebook>",
            ),
            ("markdown", "a\n***\nb ***", "### Lore: \na\n\\***\nb ***\n***"),
            ("lb", "", ""),
        ] {
            let format: WrapFormat = format.parse().unwrap();
            assert_eq!(wrap(&format, &WrapFields::new(), text), expected);
        }
    }
}
