//! The stages of a cycle, their answers and their results.

use std::collections::BTreeMap;

use loreloom_ports::{ModelError, Outcome};
use serde::{Deserialize, Serialize};

use super::Backend;
use crate::{
    drive::{DriveError, drive},
    pass::{Answers, Need, Script},
    similarity::Vectors,
};

/// A stage of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CycleStage {
    /// The story so far.
    Compaction,
    /// Whether the scene ended.
    Scene,
    /// Who knows what.
    Epistemic,
    /// Session memories.
    Session,
    /// Merging them.
    SessionMerge,
    /// Long-term memories.
    LongTerm,
    /// Merging them.
    LongTermMerge,
    /// Arcs.
    Arcs,
    /// State cards.
    Ledger,
    /// A profile.
    Profile,
    /// Canon.
    Canon,
    /// Contradictions.
    Continuity,
    /// One question for several tiers.
    Together,
}

/// The answers of each stage; in a group, of each member's stages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Progress(BTreeMap<String, Answers>);

/// The results of a cycle.
#[derive(Debug, Default)]
pub struct CycleReport {
    /// Stages that ran, with how much they changed.
    pub done: Vec<(CycleStage, usize)>,
    /// Stages that failed, and why.
    pub failed: Vec<(CycleStage, DriveError)>,
    /// Contradictions found in the reply.
    pub contradictions: Vec<String>,
}

impl CycleReport {
    /// The first stage whose model did not answer, and why.
    pub(crate) fn unanswered(&self) -> Option<(&DriveError, &ModelError)> {
        self.failed.iter().find_map(|(_, error)| match error {
            DriveError::NoAnswer { cause, .. } => Some((error, cause)),
            DriveError::Unreadable(_) => None,
        })
    }

    /// Replies that could not be read.
    pub(crate) fn unread(&self) -> impl Iterator<Item = String> {
        self.failed.iter().filter_map(|(_, error)| match error {
            DriveError::Unreadable(unread) => Some(unread.to_string()),
            DriveError::NoAnswer { .. } => None,
        })
    }

    /// How a job with these results ends. Replies that could not be read make it a failure, even
    /// if other stages found something: nobody would look for what is missing otherwise.
    pub(crate) fn end(&self) -> Outcome {
        let errors: Vec<String> = self.unread().collect();
        if errors.is_empty() { Outcome::Done } else { Outcome::Failed { error: errors.join("\n") } }
    }
}

/// Runs stages and records their results.
pub(super) struct Runner<'run> {
    backend: Backend<'run>,
    progress: &'run mut Progress,
    pub(super) report: CycleReport,
    /// The member whose stages run now, if there are several.
    pub(super) member: Option<String>,
}

impl<'run> Runner<'run> {
    pub(super) fn new(backend: Backend<'run>, progress: &'run mut Progress) -> Self {
        Self { backend, progress, report: CycleReport::default(), member: None }
    }

    /// Runs one stage; `None` if its model failed.
    pub(super) async fn run<T>(
        &mut self,
        stage: CycleStage,
        pass: impl Fn(&mut Script<'_>) -> Result<T, Need>,
    ) -> Option<T> {
        let usual = if self.backend.embedder.is_some() { Vectors::on() } else { Vectors::off() };
        let key = match &self.member {
            Some(member) => format!("{stage:?}/{member}"),
            None => format!("{stage:?}"),
        };
        let answers = self
            .progress
            .0
            .entry(key)
            .or_insert_with(|| Answers { vectors: usual, ..Answers::default() });
        match drive(pass, answers, self.backend.model, self.backend.embedder).await {
            Ok(outcome) => Some(outcome),
            Err(error) => {
                self.report.failed.push((stage, error));
                None
            }
        }
    }

    /// Gives a stage the reply to its first question, unless it already has one.
    pub(super) fn prefill(&mut self, stage: CycleStage, reply: Option<String>) {
        let Some(reply) = reply else { return };
        let usual = if self.backend.embedder.is_some() { Vectors::on() } else { Vectors::off() };
        self.progress
            .0
            .entry(format!("{stage:?}"))
            .or_insert_with(|| Answers { replies: vec![Some(reply)], vectors: usual });
    }

    /// Records how much a stage changed.
    pub(super) fn done(&mut self, stage: CycleStage, changed: usize) {
        self.report.done.push((stage, changed));
    }
}
