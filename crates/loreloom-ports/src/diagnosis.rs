//! Trying a connection out, one step after the other.
//!
//! A connection that does not work fails somewhere between a name and a first word, and the
//! error that a front end shows rarely says where. Each step rests on the one before, so the
//! first that fails is the one to fix.

use async_trait::async_trait;
use serde::Serialize;

/// A step of a diagnosis, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The host's name has an address.
    Name,
    /// Somebody listens there.
    Port,
    /// The certificate is trusted.
    Tls,
    /// The path is a model server's.
    Path,
    /// The key is accepted.
    Key,
    /// The server says which models it has, the configured one among them.
    Models,
    /// A streamed reply arrives piece by piece and ends.
    Stream,
    /// Tokens are counted as the model does.
    Tokenizer,
    /// The context size is the model's.
    Context,
}

impl Step {
    /// All steps, in order.
    pub const ALL: [Self; 9] = [
        Self::Name,
        Self::Port,
        Self::Tls,
        Self::Path,
        Self::Key,
        Self::Models,
        Self::Stream,
        Self::Tokenizer,
        Self::Context,
    ];

    /// The step's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Port => "port",
            Self::Tls => "tls",
            Self::Path => "path",
            Self::Key => "key",
            Self::Models => "models",
            Self::Stream => "stream",
            Self::Tokenizer => "tokenizer",
            Self::Context => "context",
        }
    }
}

/// How a step went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// As it should.
    Passed,
    /// It works, but not as well as it could.
    Doubtful,
    /// It was not tried, because it does not apply or an earlier step failed.
    Skipped,
    /// It did not.
    Failed,
}

impl StepOutcome {
    /// The outcome's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Doubtful => "doubtful",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }
}

/// What a step found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = StepFinding))]
pub struct Finding {
    /// The step.
    pub step: Step,
    /// How it went.
    pub outcome: StepOutcome,
    /// What was found.
    pub found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The names of the server's models, at the step that lists them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
}

/// Something that can be tried out.
#[async_trait]
pub trait Diagnosis: Send + Sync {
    /// Tests it, and reports each step. Never fails: a failure is a finding.
    async fn diagnose(&self, report: &mut (dyn FnMut(Finding) + Send));

    /// The context size that the server says a model has, where it does.
    async fn context_size(&self, model: &str) -> Option<u32>;
}
