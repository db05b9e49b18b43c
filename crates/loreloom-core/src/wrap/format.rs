//! Which wrapper is used, as data: one short text in settings and on the command line.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{
    field::WrapField,
    template::{Template, TemplateError},
};

/// How entries are wrapped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum WrapFormat {
    /// Not at all.
    #[default]
    None,
    /// `<lorebook name="…">` … `</lorebook>`.
    Xml(XmlDetail),
    /// A heading `### Lore: …` and a rule `***` at the end.
    Markdown,
    /// `[LB:…]` … `[/LB]`.
    Lb,
    /// `[World Info: …]` … `[/World Info]`.
    WorldInfo,
    /// The user's own.
    Custom(Box<Template>),
}

/// How much a `<lorebook>` tag says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XmlDetail {
    /// Name and key.
    #[default]
    Minimal,
    /// Also secondary keys, phase and depth of the scan.
    Standard,
    /// Also id, book, pass, reason, and the messages and entries that triggered it.
    Detailed,
    /// Everything.
    Maximum,
}

/// A format's name is not known, or its template is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrapFormatError {
    /// No format has this name.
    #[error(
        "a wrapper is `none`, `xml-minimal`, `xml-standard`, `xml-detailed`, `xml-maximum`, `markdown`, `lb`, `world-info` or `custom:TEMPLATE`, found `{found}`"
    )]
    Unknown {
        /// What was named.
        found: String,
    },
    /// The template is refused.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

impl XmlDetail {
    /// All, from the least.
    pub const ALL: [Self; 4] = [Self::Minimal, Self::Standard, Self::Detailed, Self::Maximum];

    /// The attributes that are written.
    pub fn fields(self) -> &'static [WrapField] {
        const DETAILED: &[WrapField] = &[
            WrapField::Name,
            WrapField::Key,
            WrapField::Secondary,
            WrapField::Scan,
            WrapField::ScanDepth,
            WrapField::Uid,
            WrapField::World,
            WrapField::Iteration,
            WrapField::Activation,
            WrapField::MatchedIn,
            WrapField::TriggeredBy,
            WrapField::Parents,
            WrapField::ViaRecursion,
        ];
        match self {
            Self::Minimal => &DETAILED[..2],
            Self::Standard => &DETAILED[..5],
            Self::Detailed => DETAILED,
            Self::Maximum => WrapField::ALL,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Minimal => "xml-minimal",
            Self::Standard => "xml-standard",
            Self::Detailed => "xml-detailed",
            Self::Maximum => "xml-maximum",
        }
    }
}

impl WrapFormat {
    /// The formats that need no template, one for each way of writing.
    pub fn presets() -> [Self; 4] {
        [Self::Xml(XmlDetail::Maximum), Self::Markdown, Self::Lb, Self::WorldInfo]
    }

    /// Whether entries are sent as they are.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

impl FromStr for WrapFormat {
    type Err = WrapFormatError;

    fn from_str(text: &str) -> Result<Self, WrapFormatError> {
        if let Some(template) = text.strip_prefix("custom:") {
            return Ok(Self::Custom(Box::new(Template::parse(template)?)));
        }
        Ok(match text {
            "none" => Self::None,
            "xml" => Self::Xml(XmlDetail::default()),
            "markdown" => Self::Markdown,
            "lb" => Self::Lb,
            "world-info" => Self::WorldInfo,
            _ => {
                let detail = XmlDetail::ALL.into_iter().find(|detail| detail.as_str() == text);
                let unknown = || WrapFormatError::Unknown { found: text.to_owned() };
                Self::Xml(detail.ok_or_else(unknown)?)
            }
        })
    }
}

impl fmt::Display for WrapFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("none"),
            Self::Xml(detail) => formatter.write_str(detail.as_str()),
            Self::Markdown => formatter.write_str("markdown"),
            Self::Lb => formatter.write_str("lb"),
            Self::WorldInfo => formatter.write_str("world-info"),
            Self::Custom(template) => write!(formatter, "custom:{}", template.source()),
        }
    }
}

impl TryFrom<String> for WrapFormat {
    type Error = WrapFormatError;

    fn try_from(text: String) -> Result<Self, WrapFormatError> {
        text.parse()
    }
}

impl From<WrapFormat> for String {
    fn from(format: WrapFormat) -> Self {
        format.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_one_text_in_settings() {
        for text in [
            "none",
            "xml-minimal",
            "xml-standard",
            "xml-detailed",
            "xml-maximum",
            "markdown",
            "lb",
            "world-info",
            "custom:<lore n=\"{{name}}\">\n{{content}}\n</lore>",
        ] {
            let json = serde_json::json!(text);
            let format: WrapFormat = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(serde_json::to_value(&format).unwrap(), json);
        }
        assert_eq!("xml".parse(), Ok(WrapFormat::Xml(XmlDetail::Minimal)));
        let error = "html".parse::<WrapFormat>().unwrap_err().to_string();
        assert!(error.ends_with("or `custom:TEMPLATE`, found `html`"), "{error}");
        let error = serde_json::from_str::<WrapFormat>("\"custom:{{content}}\"").unwrap_err();
        assert!(error.to_string().starts_with("a wrapper template must begin with"), "{error}");
    }
}
