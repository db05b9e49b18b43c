//! Where a book came from, kept so that it can be written back as it was.

use serde::{Deserialize, Serialize};

/// The file a book was read from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The format's name, for example `sillytavern`.
    pub format: String,
    /// The version the file states.
    pub version: Option<String>,
    /// What the data was wrapped in.
    pub container: Container,
    /// The style of the text.
    pub style: TextStyle,
    /// The file's text as read (JSON formats), for writing back what was not edited.
    pub source: Option<std::sync::Arc<str>>,
    /// The program that wrote the file, where the format does not say it: cards are written by
    /// many programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The name that the book was given because its file has none for it. No file gets it:
    /// a book that crosses a format and comes back must not have learnt a name there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumed_name: Option<String>,
}

/// What the data was wrapped in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Container {
    /// Plain text.
    #[default]
    Text,
    /// A text chunk of a PNG picture.
    Png,
    /// A zip archive.
    Zip,
    /// A JPEG picture with an archive or EXIF data.
    Jpeg,
    /// A WebP picture with EXIF data.
    Webp,
    /// Risu's binary module.
    Risum,
    /// A folder of Markdown notes.
    Vault,
}

/// Layout of a text file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextStyle {
    /// The file began with a byte order mark.
    pub bom: bool,
    /// Line ends.
    pub newline: Newline,
    /// Indentation.
    pub indent: Indent,
    /// The file ended with a line end.
    pub final_newline: bool,
}

/// Line ends of a text file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Newline {
    /// `\n`.
    #[default]
    Lf,
    /// `\r\n`.
    CrLf,
}

/// Indentation of a JSON file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Indent {
    /// All on one line.
    #[default]
    None,
    /// This many spaces.
    Spaces(u8),
    /// One tab.
    Tab,
}
