//! A prompt as a list of messages, the shape every chat model takes.

use serde::{Deserialize, Serialize};

use crate::chat::{Role, Text};

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PromptMessage {
    /// Its role.
    pub role: Role,
    /// The speaker's name, if the model gets it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// Its text.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub content: Text,
}
