//! A prompt template as a list of names, for settings and files.

use super::template::{PromptBlock, PromptTemplate};
use crate::place::{LOREBOOK_SLOT, Place};

/// Why a list of names is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// No block has this name.
    #[error(
        "a block of the prompt is one of {names}, `slot:NAME`, `text:WORDS`, or `off:` and one of \
         these, found `{found}`"
    )]
    Unknown {
        /// The names.
        names: String,
        /// What was found.
        found: String,
    },
    /// A block twice.
    #[error("a block may be in the prompt once, found `{name}` twice")]
    Twice {
        /// The block.
        name: String,
    },
    /// No chat.
    #[error("a prompt must have the block `history`")]
    NoHistory,
}

/// The names of blocks; slots other than that of card books are `slot:NAME`.
fn names() -> [(&'static str, PromptBlock); 15] {
    let place = PromptBlock::Place;
    [
        ("before-main", place(Place::BeforeMain)),
        ("main", PromptBlock::Main),
        ("after-main", place(Place::AfterMain)),
        ("lorebook", place(Place::Slot(LOREBOOK_SLOT.to_owned()))),
        ("before-character", place(Place::BeforeCharacter)),
        ("persona", PromptBlock::Persona),
        ("description", PromptBlock::Description),
        ("personality", PromptBlock::Personality),
        ("scenario", PromptBlock::Scenario),
        ("after-character", place(Place::AfterCharacter)),
        ("before-examples", place(Place::BeforeExamples)),
        ("examples", PromptBlock::Examples),
        ("after-examples", place(Place::AfterExamples)),
        ("history", PromptBlock::History),
        ("post-history", PromptBlock::PostHistory),
    ]
}

impl PromptBlock {
    /// The block, whether or not it is switched off.
    fn switched_on(&self) -> &Self {
        if let Self::Off(block) = self { block } else { self }
    }

    fn named(name: &str) -> Option<Self> {
        if let Some(off) = name.strip_prefix("off:") {
            let block = Self::named(off)?;
            return (!matches!(block, Self::Off(_))).then(|| Self::Off(Box::new(block)));
        }
        if let Some(text) = name.strip_prefix("text:").filter(|text| !text.trim().is_empty()) {
            return Some(Self::Text(lines(text)));
        }
        if let Some(slot) = name.strip_prefix("slot:").filter(|slot| !slot.trim().is_empty()) {
            return Some(Self::Place(Place::Slot(slot.trim().to_owned())));
        }
        names().into_iter().find(|(known, _)| *known == name).map(|(_, block)| block)
    }

    fn name(&self) -> String {
        let known = names().into_iter().find(|(_, block)| block == self);
        match (known, self) {
            (Some((name, _)), _) => name.to_owned(),
            (None, Self::Place(Place::Slot(slot))) => format!("slot:{slot}"),
            (None, Self::Text(text)) => format!("text:{}", one_line(text)),
            (None, Self::Off(block)) => format!("off:{}", block.name()),
            // Only slots have names of their own, so no template has such a block.
            (None, _) => String::new(),
        }
    }
}

/// A text with its lines as `\n`: a list of names is often written with a name on each line.
fn one_line(text: &str) -> String {
    text.replace('\\', r"\\").replace('\n', r"\n")
}

/// The text of a line.
fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(one) = rest.next() {
        match (one, rest.clone().next()) {
            ('\\', Some(next @ ('n' | '\\'))) => {
                rest.next();
                out.push(if next == 'n' { '\n' } else { '\\' });
            }
            _ => out.push(one),
        }
    }
    out
}

impl TryFrom<Vec<String>> for PromptTemplate {
    type Error = TemplateError;

    fn try_from(listed: Vec<String>) -> Result<Self, TemplateError> {
        let mut blocks = Vec::with_capacity(listed.len());
        for name in listed {
            let Some(block) = PromptBlock::named(name.trim()) else {
                let names: Vec<String> = names().map(|(name, _)| format!("`{name}`")).to_vec();
                return Err(TemplateError::Unknown { names: names.join(", "), found: name });
            };
            if blocks.iter().any(|one: &PromptBlock| one.switched_on() == block.switched_on()) {
                return Err(TemplateError::Twice { name });
            }
            blocks.push(block);
        }
        if blocks.contains(&PromptBlock::History) {
            Ok(Self(blocks))
        } else {
            Err(TemplateError::NoHistory)
        }
    }
}

impl From<PromptTemplate> for Vec<String> {
    fn from(template: PromptTemplate) -> Self {
        template.0.iter().map(PromptBlock::name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Depth;

    fn template(names: &[&str]) -> Result<PromptTemplate, TemplateError> {
        PromptTemplate::try_from(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_template_is_a_list_of_names() {
        let default = Vec::<String>::from(PromptTemplate::default());
        assert_eq!(default.len(), names().len());
        assert_eq!(PromptTemplate::try_from(default).unwrap(), PromptTemplate::default());
        let own = ["history", "slot:scenes", "main"];
        assert_eq!(Vec::<String>::from(template(&own).unwrap()), own);
        let own = [r"text:Be \\brief.\nBe kind.", "off:text:Rhyme.", "history", "off:main"];
        let read = template(&own).unwrap();
        assert_eq!(read.blocks()[0], PromptBlock::Text("Be \\brief.\nBe kind.".to_owned()));
        assert_eq!(Vec::<String>::from(read), own);
        for (names, error) in [
            (
                &["history", "history"][..],
                "a block may be in the prompt once, found `history` twice",
            ),
            (
                &["main", "history", "off:main"],
                "a block may be in the prompt once, found `off:main` twice",
            ),
            (&["main", "off:history"], "a prompt must have the block `history`"),
            (&["main"], "a prompt must have the block `history`"),
        ] {
            assert_eq!(template(names).unwrap_err().to_string(), error);
        }
        for unknown in ["mian", "text: ", "off:off:main"] {
            let error = template(&["history", unknown]).unwrap_err().to_string();
            assert!(error.ends_with(&format!("these, found `{unknown}`")), "{error}");
        }
    }

    #[test]
    fn a_moved_slot_has_a_place_in_other_peoples_prompts_too() {
        for (names, place) in [
            (&["main", "lorebook", "history"][..], None),
            (&["lorebook", "main", "history"], Some(Place::BeforeMain)),
            (&["main", "scenario", "lorebook", "history"], Some(Place::AfterCharacter)),
            (&["main", "examples", "lorebook", "history"], Some(Place::AfterExamples)),
            (&["main", "history", "lorebook"], Some(Place::AtDepth(Depth(0)))),
            (&["main", "history"], None),
        ] {
            assert_eq!(template(names).unwrap().slot_place(), place, "{names:?}");
        }
    }
}
