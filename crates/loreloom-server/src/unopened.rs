//! Connections that are named and cannot be used.
//!
//! One that cannot be opened (its key is gone, for one) and one that a route names and nobody
//! knows stay where requests find them: a story must not go to another server instead.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use loreloom_core::{
    ids::ConnectionId,
    notebook::NoteCutter,
    tokens::{ByteEstimate, TokenCounter},
};
use loreloom_ports::{
    Diagnosis, Finding, Finished, ReplyHiding, ReplyReading, Step, StepOutcome, Upstream,
    UpstreamCall, UpstreamError, UpstreamReply,
};

use crate::{
    connection_settings::{ConnectionKind, ConnectionSettings, ServerUrl},
    connections::{Connection, ConnectionsError},
};

/// What fails in the name of a connection.
struct Unopened {
    name: String,
    reason: String,
}

/// A connection that cannot be opened.
pub(crate) fn unopened(
    name: &ConnectionId,
    settings: &ConnectionSettings,
    reason: String,
) -> Connection {
    let failing = Arc::new(Unopened { name: name.to_string(), reason: reason.clone() });
    Connection {
        name: name.clone(),
        shown: settings.url.as_ref().map_or("unknown", ServerUrl::as_str).to_owned(),
        kind: settings.kind,
        model: settings.model.clone(),
        key: settings.key_shown(),
        upstream: Arc::clone(&failing) as Arc<dyn Upstream>,
        counting: Arc::new(|_model| Arc::new(ByteEstimate) as Arc<dyn TokenCounter>),
        context: None,
        strict_roles: settings.strict_roles,
        cache: None,
        prices: settings.prices(),
        diagnosis: failing,
        holding: None,
        questions: None,
        problem: Some(reason),
    }
}

/// A connection that something names and nobody knows.
pub(crate) fn missing(name: &ConnectionId, error: &ConnectionsError) -> Connection {
    let settings =
        ConnectionSettings { kind: ConnectionKind::Offline, ..ConnectionSettings::default() };
    unopened(name, &settings, error.to_string())
}

#[async_trait]
impl Upstream for Unopened {
    async fn send(&self, _call: UpstreamCall) -> Result<UpstreamReply, UpstreamError> {
        let (address, reason) = (self.name.clone(), self.reason.clone());
        Err(UpstreamError::Unreachable { address, reason })
    }

    fn reading(&self, _content_type: &str) -> Box<dyn ReplyReading> {
        Box::new(Nothing)
    }

    fn hiding(&self, _content_type: &str, _cutter: NoteCutter) -> Box<dyn ReplyHiding> {
        Box::new(Nothing)
    }
}

/// An answer that never comes.
struct Nothing;

impl ReplyReading for Nothing {
    fn is_over(&self) -> bool {
        false
    }

    fn push(&mut self, _bytes: &[u8]) {}

    fn finish(self: Box<Self>) -> Finished {
        Finished::Unread
    }
}

impl ReplyHiding for Nothing {
    fn push(&mut self, bytes: &Bytes) -> Bytes {
        bytes.clone()
    }

    fn finish(self: Box<Self>) -> Bytes {
        Bytes::new()
    }
}

#[async_trait]
impl Diagnosis for Unopened {
    async fn diagnose(&self, tell: &mut (dyn FnMut(Finding) + Send)) {
        let fix = "mend its settings, or what they name on the server's machine";
        for step in Step::ALL {
            let first = step == Step::Name;
            tell(Finding {
                step,
                outcome: if first { StepOutcome::Failed } else { StepOutcome::Skipped },
                found: if first { self.reason.clone() } else { "not tried".to_owned() },
                fix: first.then(|| fix.to_owned()),
                models: Vec::new(),
            });
        }
    }

    async fn context_size(&self, _model: &str) -> Option<u32> {
        None
    }
}
