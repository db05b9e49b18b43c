//! Why a file cannot be read or written.

use crate::limits::Limit;

impl FormatError {
    /// The limit that a file is beyond, where that is why.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Self::TooLarge { which, .. } | Self::TooMany { which, .. } => Some(*which),
            Self::Exploding { .. } => Some(Limit::Ratio),
            Self::TooDeep { .. } => Some(Limit::Nesting),
            Self::Empty
            | Self::Syntax { .. }
            | Self::NotYaml { .. }
            | Self::Encrypted
            | Self::Container { .. }
            | Self::NoLore { .. }
            | Self::Unknown { .. }
            | Self::Field { .. } => None,
        }
    }
}

/// A file that cannot be read, or a book that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The file holds nothing.
    #[error("the file is empty")]
    Empty,
    /// The file is larger than the limit.
    #[error("a file may have {limit} bytes, found {found}")]
    TooLarge {
        /// The limit.
        which: Limit,
        /// Bytes allowed.
        limit: usize,
        /// Bytes found.
        found: usize,
    },
    /// Something packed that unpacks to far more than it is.
    #[error(
        "a file may have {limit} bytes when unpacked, {ratio} times its packed size, found more"
    )]
    Exploding {
        /// How many times its packed size is allowed.
        ratio: usize,
        /// Bytes allowed here.
        limit: usize,
    },
    /// The text is not JSON.
    #[error("not valid JSON: {problem} at line {line}, column {column}")]
    Syntax {
        /// Line of the fault, from 1.
        line: usize,
        /// Column of the fault in characters, from 1.
        column: usize,
        /// What is wrong there.
        problem: String,
    },
    /// The text is called YAML and is not.
    #[error("not valid YAML: {problem}")]
    NotYaml {
        /// What is wrong with it.
        problem: String,
    },
    /// Brackets inside brackets beyond what any real file needs.
    #[error("JSON may nest {limit} levels deep, found more at line {line}, column {column}")]
    TooDeep {
        /// Levels allowed.
        limit: usize,
        /// Line of the bracket that is too much, from 1.
        line: usize,
        /// Column of that bracket, from 1.
        column: usize,
    },
    /// More items than the limit.
    #[error("a file may have {limit} {}, found {found}", which.what())]
    TooMany {
        /// The limit.
        which: Limit,
        /// Items allowed.
        limit: usize,
        /// Items found.
        found: usize,
    },
    /// A card that its maker locked with a password.
    #[error("the card is encrypted with a password")]
    Encrypted,
    /// A picture or archive that cannot be opened.
    #[error("not a usable {kind}: {problem}")]
    Container {
        /// What it looked like.
        kind: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A picture or archive that holds no lore.
    #[error("not a usable card: {problem}")]
    NoLore {
        /// What was looked for.
        problem: String,
    },
    /// Valid data, but of no known format.
    #[error("not a lorebook, card or chat of a known kind: looked for {looked_for}, found {found}")]
    Unknown {
        /// What would identify the format.
        looked_for: &'static str,
        /// What the file has instead.
        found: String,
    },
    /// A value that cannot be used.
    #[error("{place}: `{field}` must be {expected}, found {found}")]
    Field {
        /// The entry or the line.
        place: String,
        /// The field's name in the file.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
}
