//! Why a setting is refused.

use crate::setting::Program;

/// Why a setting is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// No setting has this name.
    #[error("there is no setting `{name}`{}", nearest.map(|one| format!("; did you mean `{one}`?")).unwrap_or_default())]
    Unknown {
        /// The name.
        name: String,
        /// The known name that is most like it.
        nearest: Option<&'static str>,
    },
    /// The name is another program's.
    #[error("`{name}` of {} is `{ours}` here", program.as_str())]
    Elsewhere {
        /// The name.
        name: String,
        /// The program.
        program: Program,
        /// Our name.
        ours: &'static str,
    },
    /// The setting cannot have this value.
    #[error("`{name}` must be {rule}, found {found}")]
    Value {
        /// The setting.
        name: String,
        /// What it must be.
        rule: String,
        /// The value.
        found: String,
    },
    /// The setting cannot be set there.
    #[error("`{name}` cannot be set for one {place}: it holds for {holds}")]
    Scope {
        /// The setting.
        name: &'static str,
        /// Where it was set.
        place: &'static str,
        /// Where it can be set.
        holds: String,
    },
    /// The text is not `NAME=VALUE`.
    #[error("must be NAME=VALUE, found `{found}`")]
    Form {
        /// The text.
        found: String,
    },
    /// The file's settings are not those of a program that we know.
    #[error("must be a settings file of SillyTavern, DeepLore or Smart Memory, found {found}")]
    Foreign {
        /// What it is instead.
        found: String,
    },
}

impl SettingError {
    /// The setting that it is about.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Unknown { name, .. }
            | Self::Elsewhere { name, .. }
            | Self::Value { name, .. } => Some(name),
            Self::Scope { name, .. } => Some(name),
            Self::Form { .. } | Self::Foreign { .. } => None,
        }
    }
}
