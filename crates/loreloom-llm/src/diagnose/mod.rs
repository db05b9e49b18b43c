//! Tests a connection step by step, and says what to do about each failure.
//!
//! Pure functions judge the answers (`judge`); this module only asks. Each step is reported when
//! it is done, so that the user sees the progress.

mod judge;
mod probe;

use std::sync::Arc;

use async_trait::async_trait;
use loreloom_core::tokens::TokenCounter;
use loreloom_ports::{Diagnosis, Finding, Step, StepOutcome};
use serde_json::Value;

use self::{
    judge::{ProbeSaid, ProbeSeen},
    probe::Probe,
};
use crate::{
    connection::{Address, ClientRules, ConnectionError},
    secret::Secret,
};

/// The protocol of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    /// OpenAI's paths.
    OpenAi,
    /// Ollama's paths.
    Ollama,
}

/// A connection to be tried out.
pub struct TestedConnection {
    /// Where it is.
    pub address: Address,
    /// Its protocol.
    pub speech: Speech,
    /// The key, where there is one.
    pub key: Option<Secret>,
    /// The model, where one is configured.
    pub model: Option<String>,
    /// What tokens are counted with.
    pub counter: Arc<dyn TokenCounter>,
    /// The configured context size.
    pub context: Option<u32>,
    /// How it is reached.
    pub client: ClientRules,
}

/// The built-in storyteller, which has nothing to try.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn;

#[async_trait]
impl Diagnosis for BuiltIn {
    async fn diagnose(&self, report: &mut (dyn FnMut(Finding) + Send)) {
        for step in Step::ALL {
            report(skipped(step, "the storyteller is built in"));
        }
    }

    async fn context_size(&self, _: &str) -> Option<u32> {
        None
    }
}

fn finding(step: Step, outcome: StepOutcome, found: impl Into<String>) -> Finding {
    Finding { step, outcome, found: found.into(), fix: None, models: Vec::new() }
}

fn passed(step: Step, found: impl Into<String>) -> Finding {
    finding(step, StepOutcome::Passed, found)
}

fn skipped(step: Step, found: impl Into<String>) -> Finding {
    finding(step, StepOutcome::Skipped, found)
}

fn doubtful(step: Step, found: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { fix: Some(fix.into()), ..finding(step, StepOutcome::Doubtful, found) }
}

fn failed(step: Step, found: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { fix: Some(fix.into()), ..finding(step, StepOutcome::Failed, found) }
}

#[async_trait]
impl Diagnosis for TestedConnection {
    async fn diagnose(&self, report: &mut (dyn FnMut(Finding) + Send)) {
        let mut done = Vec::new();
        let mut note = |finding: Finding| {
            done.push(finding.step);
            let finding = self.without_key(finding);
            let failed = finding.outcome == StepOutcome::Failed;
            report(finding);
            failed
        };
        self.steps(&mut note).await;
        for step in Step::ALL.into_iter().filter(|step| !done.contains(step)) {
            report(skipped(step, "an earlier step failed"));
        }
    }

    /// Ollama's `/api/show`, llama.cpp's `/props`, or the list of models.
    async fn context_size(&self, model: &str) -> Option<u32> {
        let probe = Probe::new(self).ok()?;
        if let Some(ProbeSeen { size, .. }) = probe.context(model).await {
            return Some(size);
        }
        let listed = probe.models().await.ok()?;
        judge::context_of(&listed.json, model).map(|seen| seen.size)
    }
}

/// Takes a finding and says whether it ends the diagnosis.
type Note<'a> = dyn FnMut(Finding) -> bool + Send + 'a;

impl TestedConnection {
    fn without_key(&self, mut finding: Finding) -> Finding {
        if let Some(key) = &self.key {
            finding.found = key.redact(&finding.found);
            finding.fix = finding.fix.map(|fix| key.redact(&fix));
        }
        finding
    }

    async fn steps(&self, note: &mut Note<'_>) {
        let probe = match Probe::new(self) {
            Ok(probe) => probe,
            Err(error) => {
                let fix = match error {
                    ConnectionError::NotPublic { .. } => {
                        "put a connection inside your own network into the configuration file"
                    }
                    ConnectionError::Address { .. }
                    | ConnectionError::Key { .. }
                    | ConnectionError::Client { .. } => "correct the connection's settings",
                };
                let (reason, source) = (error.to_string(), std::error::Error::source(&error));
                let source = source.map(|source| format!(": {source}")).unwrap_or_default();
                note(failed(Step::Name, reason + &source, fix));
                return;
            }
        };
        let listed = probe.models().await;
        let reached = listed.is_ok();
        if note(probe.name(reached).await) || note(probe.port(reached).await) {
            return;
        }
        if note(judge::tls(self.address.is_encrypted(), &listed)) {
            return;
        }
        let listed = match listed {
            Ok(said) => said,
            Err(unanswered) => {
                note(judge::unanswered(&unanswered));
                return;
            }
        };
        let elsewhere = probe.elsewhere(&listed).await;
        if note(judge::path(self.speech, &self.address, &listed, elsewhere.as_deref()))
            || note(judge::key(self.key.is_some(), &listed))
        {
            return;
        }
        let models = judge::names(&listed);
        if note(judge::models(&models, self.model.as_deref())) {
            return;
        }
        let Some(model) = self.model.clone().or_else(|| models.first().cloned()) else {
            note(skipped(Step::Stream, "no model is known to ask"));
            note(probe.tokenizer("").await);
            note(self.context(&probe, &listed, "").await);
            return;
        };
        let streamed = probe.stream(&model).await;
        if note(judge::stream(&model, &streamed)) {
            return;
        }
        note(probe.tokenizer(&model).await);
        note(self.context(&probe, &listed, &model).await);
    }

    async fn context(&self, probe: &Probe<'_>, listed: &ProbeSaid, model: &str) -> Finding {
        let seen = match judge::context_of(&listed.json, model) {
            Some(seen) => Some(seen),
            None => probe.context(model).await,
        };
        judge::context(self.context, seen)
    }
}

/// A number inside a document.
fn number(document: &Value, pointer: &str) -> Option<u32> {
    u32::try_from(document.pointer(pointer)?.as_u64()?).ok()
}
