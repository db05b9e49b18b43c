//! What a reader had to put right in a note.

/// Something in a note that its author should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteWarning {
    /// What it is.
    pub code: WarningCode,
    /// The field, as the file spells it.
    pub field: String,
}

impl NoteWarning {
    /// Whether the file can be changed so that the warning goes away and nothing else does.
    pub fn is_repairable(&self) -> bool {
        matches!(
            self.code,
            WarningCode::AliasUsed | WarningCode::CommaSplit | WarningCode::CoercedNumber
        )
    }
}

/// What a reader had to put right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WarningCode {
    /// A field is spelt in another case.
    AliasUsed,
    /// A list was written as text with commas.
    CommaSplit,
    /// A number was written as text.
    CoercedNumber,
    /// A word that means nothing here; the default is used.
    Invalid,
    /// A field of World Info that vaults do not act on yet.
    NotImplemented,
    /// A field of World Info that is only carried along.
    RoundTrip,
    /// The fields are not YAML; they were read line by line.
    NotYaml,
}

impl WarningCode {
    /// The code that DeepLore's lint shows, and ours for what it does not know.
    pub fn code(self) -> &'static str {
        match self {
            Self::AliasUsed => "W_ALIAS_USED",
            Self::CommaSplit => "W_COMMA_SPLIT",
            Self::CoercedNumber => "W_COERCED_NUM",
            Self::Invalid => "W_INVALID",
            Self::NotImplemented => "W_NOT_IMPLEMENTED",
            Self::RoundTrip => "W_WI_ROUND_TRIP",
            Self::NotYaml => "W_NOT_YAML",
        }
    }
}
