//! Why a call of the API was refused: RFC 9457 problem details, made in one place.
//!
//! Every problem names the rule that was broken and, where there is one, the value found, so
//! that a program can react to `code` and a person can read `detail`.

use crate::past::again::AgainError;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use loreloom_memory::service::{EditError, ExchangeError, ReadOnlyError};
use loreloom_ports::{MemoryError, StoreError};
use serde::Serialize;
use serde_json::Value;

use crate::{
    chat_import::ChatImportError, lore_service::LoreServiceError, stored_books::StoredBooksError,
};

/// The kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schema(as = ProblemCode))]
pub(crate) enum Code {
    /// The body is no JSON, or the call cannot be read otherwise.
    Unreadable,
    /// A field or parameter is not known.
    UnknownField,
    /// A value breaks a rule.
    WrongValue,
    /// The caller has no key.
    KeyMissing,
    /// The caller's key is none of this server's, or no longer.
    KeyUnknown,
    /// The caller's key does not have the scope.
    KeyScope,
    /// The caller's key does not allow it.
    Forbidden,
    /// Nothing is there.
    NotFound,
    /// The resource does not know this method.
    WrongMethod,
    /// The resource changed since it was read.
    Outdated,
    /// What is asked for contradicts what is there.
    Conflict,
    /// The cursor is none of this list's.
    BadCursor,
    /// The body is of another type than asked for.
    WrongType,
    /// The body is larger than allowed.
    TooLarge,
    /// The head is larger than allowed.
    HeadTooLarge,
    /// The body did not come, or came too slowly.
    TooSlow,
    /// The part of the server that would do it is switched off.
    SwitchedOff,
    /// The store or another part of the server failed.
    Failed,
}

impl Code {
    fn status(self) -> StatusCode {
        match self {
            Self::Unreadable | Self::UnknownField | Self::BadCursor => StatusCode::BAD_REQUEST,
            Self::WrongValue => StatusCode::UNPROCESSABLE_ENTITY,
            Self::KeyMissing | Self::KeyUnknown => StatusCode::UNAUTHORIZED,
            Self::KeyScope | Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::Outdated => StatusCode::PRECONDITION_FAILED,
            Self::Conflict | Self::SwitchedOff => StatusCode::CONFLICT,
            Self::WrongType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::HeadTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::UnknownField => "unknown_field",
            Self::WrongValue => "wrong_value",
            Self::KeyMissing => "key_missing",
            Self::KeyUnknown => "key_unknown",
            Self::KeyScope => "key_scope",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::WrongMethod => "wrong_method",
            Self::Outdated => "outdated",
            Self::Conflict => "conflict",
            Self::BadCursor => "bad_cursor",
            Self::WrongType => "wrong_type",
            Self::TooLarge => "too_large",
            Self::HeadTooLarge => "head_too_large",
            Self::TooSlow => "too_slow",
            Self::SwitchedOff => "switched_off",
            Self::Failed => "failed",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Unreadable => "The call cannot be read",
            Self::UnknownField => "A field is not known",
            Self::WrongValue => "A value breaks a rule",
            Self::KeyMissing => "The caller has no key",
            Self::KeyUnknown => "The caller's key is not known here",
            Self::KeyScope | Self::Forbidden => "The caller may not do that",
            Self::NotFound => "There is nothing of that name",
            Self::WrongMethod => "The resource does not know this method",
            Self::Outdated => "The resource changed in between",
            Self::Conflict => "The call contradicts what is there",
            Self::BadCursor => "The cursor is none of this list's",
            Self::WrongType => "The body is of another type than asked for",
            Self::TooLarge => "The body is too large",
            Self::HeadTooLarge => "The head is too large",
            Self::TooSlow => "The body did not come in time",
            Self::SwitchedOff => "This part of the server is switched off",
            Self::Failed => "The server failed",
        }
    }
}

/// A refused call.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    code: Code,
    detail: String,
    about: Option<Box<About>>,
}

/// What a problem is about.
#[derive(Clone, Debug, Default)]
struct About {
    field: Option<String>,
    found: Option<Value>,
}

/// A refused call (RFC 9457).
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = Problem))]
pub(super) struct ProblemBody {
    /// Names the kind of problem: `urn:loreloom:problem:` and the code.
    #[serde(rename = "type")]
    kind: String,
    /// The kind in words.
    title: String,
    /// The HTTP status.
    status: u16,
    /// The rule that was broken and what was found.
    detail: String,
    /// The kind for programs.
    code: Code,
    /// The field, parameter or header that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// What was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<Value>,
    /// The same as clients of models expect it; only where a key is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ModelError>,
}

/// An error as `OpenAI`'s clients read it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ModelError {
    message: String,
    #[serde(rename = "type")]
    kind: Code,
    code: Code,
    param: Option<String>,
}

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), about: None }
    }

    /// A field that breaks a rule.
    pub(crate) fn value(field: &str, rule: &str, found: impl Into<Value>) -> Self {
        let found = found.into();
        let shown = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
        let detail = format!("`{field}` {rule}, found `{shown}`");
        Self::new(Code::WrongValue, detail).at(field).with(found)
    }

    pub(crate) fn missing(what: &str, id: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no {what} `{id}`")).with(id.to_owned())
    }

    pub(crate) fn unknown_field(field: &str) -> Self {
        Self::new(Code::UnknownField, format!("there is no field `{field}`")).at(field)
    }

    /// Names the field.
    pub(crate) fn at(self, field: impl Into<String>) -> Self {
        let about = self.about.unwrap_or_default();
        Self { about: Some(Box::new(About { field: Some(field.into()), ..*about })), ..self }
    }

    /// The same inside of a field.
    pub(crate) fn inside(self, outer: &str) -> Self {
        let about = self.about.unwrap_or_default();
        let field = about.field.as_deref().map(|field| format!("{outer}.{field}"));
        let about = About { field: field.or_else(|| Some(outer.to_owned())), ..*about };
        Self {
            about: Some(Box::new(about)),
            detail: format!("in `{outer}`: {}", self.detail),
            ..self
        }
    }

    /// Names the value found.
    pub(crate) fn with(self, found: impl Into<Value>) -> Self {
        let about = self.about.unwrap_or_default();
        Self { about: Some(Box::new(About { found: Some(found.into()), ..*about })), ..self }
    }

    fn failed(error: &dyn std::error::Error) -> Self {
        let causes = std::iter::successors(error.source(), |cause| cause.source());
        let causes: Vec<String> = causes.map(ToString::to_string).collect();
        tracing::error!(%error, ?causes, "a call of the API failed");
        // What a database says may name files and hosts; it goes to the log.
        Self::new(Code::Failed, error.to_string())
    }

    #[cfg(test)]
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }
}

/// The media type of problems.
pub(crate) const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { code, detail, about } = self;
        let About { field, found } = about.map(|about| *about).unwrap_or_default();
        let status = code.status();
        // Whoever is refused at the gate may be a client of models as well as one of the API.
        let at_the_gate = matches!(code, Code::KeyMissing | Code::KeyUnknown | Code::KeyScope);
        let error = at_the_gate.then(|| {
            let message = detail.clone();
            ModelError { message, kind: code, code, param: None }
        });
        let body = ProblemBody {
            kind: format!("urn:loreloom:problem:{}", code.name()),
            title: code.title().to_owned(),
            status: status.as_u16(),
            detail,
            code,
            field,
            found,
            error,
        };
        let mut response = (status, axum::Json(body)).into_response();
        response.headers_mut().insert(CONTENT_TYPE, PROBLEM_JSON);
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        use StoreError as E;
        match &error {
            E::NoChat { .. }
            | E::NoTurn { .. }
            | E::NoNode { .. }
            | E::NoWrite { .. }
            | E::NoRevision { .. } => Self::new(Code::NotFound, error.to_string()),
            E::BuiltUpon { .. } | E::TakenBack { .. } | E::ChangedSince { .. } => {
                Self::new(Code::Conflict, error.to_string())
            }
            E::Conflict { found, .. } | E::Outdated { found, .. } => {
                Self::new(Code::Outdated, error.to_string()).with(*found)
            }
            E::Contradiction { found, .. } => {
                Self::new(Code::WrongValue, error.to_string()).with(found.clone())
            }
            E::OtherVersion { found, .. } => {
                Self::new(Code::WrongValue, error.to_string()).with(*found)
            }
            E::Missing { .. }
            | E::NotADatabase { .. }
            | E::Exists { .. }
            | E::Replaced
            | E::Full { .. }
            | E::Unreachable { .. }
            | E::Damaged { .. }
            | E::Database { .. } => Self::failed(&error),
        }
    }
}

impl From<StoredBooksError> for Problem {
    fn from(error: StoredBooksError) -> Self {
        match error {
            StoredBooksError::NoBook { id } => Self::missing("book", id.as_str()),
            StoredBooksError::Store(error) => error.into(),
        }
    }
}

impl From<LoreServiceError> for Problem {
    fn from(error: LoreServiceError) -> Self {
        match error {
            LoreServiceError::Lore(error) => Self::new(Code::Conflict, error.to_string()),
            LoreServiceError::Store(error) => error.into(),
            LoreServiceError::Settings(error) => Self::failed(&error),
            LoreServiceError::Embed(error) => Self::failed(&error),
        }
    }
}

impl From<AgainError> for Problem {
    fn from(error: AgainError) -> Self {
        Self::new(Code::Conflict, error.to_string())
    }
}

impl From<ChatImportError> for Problem {
    fn from(error: ChatImportError) -> Self {
        match error {
            ChatImportError::Known { ref chat } => {
                Self::new(Code::Conflict, error.to_string()).at("id").with(chat.to_string())
            }
            ChatImportError::Damaged(_) => Self::new(Code::WrongValue, error.to_string()),
            ChatImportError::Store(error) => error.into(),
        }
    }
}

impl From<MemoryError> for Problem {
    fn from(error: MemoryError) -> Self {
        match error {
            MemoryError::Behind { .. }
            | MemoryError::StoryMoved { .. }
            | MemoryError::JobLost { .. } => Self::new(Code::Conflict, error.to_string()),
            MemoryError::Store(error) => error.into(),
        }
    }
}

impl From<EditError> for Problem {
    fn from(error: EditError) -> Self {
        match error {
            EditError::NoRecord { ref id, .. } => {
                Self::new(Code::NotFound, error.to_string()).with(id.clone())
            }
            EditError::NoWrite { ref id } => {
                Self::new(Code::NotFound, error.to_string()).with(id.0.clone())
            }
            EditError::Undone { .. } => Self::new(Code::Conflict, error.to_string()),
            EditError::Field { .. } | EditError::Empty | EditError::TooFew { .. } => {
                Self::new(Code::WrongValue, error.to_string())
            }
            EditError::Memory(error) => error.into(),
        }
    }
}

impl From<ExchangeError> for Problem {
    fn from(error: ExchangeError) -> Self {
        match error {
            ExchangeError::Format { .. }
            | ExchangeError::TooNew { .. }
            | ExchangeError::Migrate(_)
            | ExchangeError::Container { .. }
            | ExchangeError::Unknown
            | ExchangeError::NoChat => Self::new(Code::WrongValue, error.to_string()),
            ExchangeError::NoGroup { ref group } => {
                Self::new(Code::NotFound, error.to_string()).with(group.clone())
            }
            ExchangeError::Memory(error) => error.into(),
        }
    }
}

impl From<ReadOnlyError> for Problem {
    fn from(error: ReadOnlyError) -> Self {
        match error {
            ReadOnlyError::Open { .. } | ReadOnlyError::None { .. } => {
                Self::new(Code::Conflict, error.to_string())
            }
            ReadOnlyError::Edit(error) => error.into(),
            ReadOnlyError::Memory(error) => error.into(),
            ReadOnlyError::Story(error) => error.into(),
        }
    }
}
