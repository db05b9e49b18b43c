//! The stages of a cycle, their answers and their results.

use std::collections::BTreeMap;

use loreloom_ports::{JobOutcome, ModelError};
use serde::{Deserialize, Serialize};

use super::{Backend, Occasion};
use crate::{
    cast::StoryCast,
    drive::{DriveError, drive},
    pass::{Answers, Need, Purpose, Script},
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
    pub(crate) fn end(&self) -> JobOutcome {
        let errors: Vec<String> = self.unread().collect();
        if errors.is_empty() {
            JobOutcome::Done
        } else {
            JobOutcome::Failed { error: errors.join("\n") }
        }
    }
}

/// The name of a stage's answers.
fn key(stage: CycleStage, member: Option<&str>) -> String {
    match member {
        Some(member) => format!("{stage:?}/{member}"),
        None => format!("{stage:?}"),
    }
}

/// Runs stages and records their results.
pub(super) struct Runner<'run> {
    backend: Backend<'run>,
    progress: &'run mut Progress,
    pub(super) report: CycleReport,
    /// The member whose stages run now, if there are several.
    pub(super) member: Option<String>,
    /// The people of the story, for prompts that do not name them.
    people: String,
}

impl<'run> Runner<'run> {
    pub(super) fn new(
        occasion: Occasion<'_>,
        backend: Backend<'run>,
        progress: &'run mut Progress,
    ) -> Self {
        let people = StoryCast::of(occasion.path, occasion.character).sentence();
        Self { backend, progress, report: CycleReport::default(), member: None, people }
    }

    /// Runs one stage; `None` if its model failed.
    pub(super) async fn run<T>(
        &mut self,
        stage: CycleStage,
        pass: impl Fn(&mut Script<'_>) -> Result<T, Need>,
    ) -> Option<T> {
        let usual = self.usual();
        let answers = self
            .progress
            .0
            .entry(key(stage, self.member.as_deref()))
            .or_insert_with(|| Answers { vectors: usual, ..Answers::default() });
        let people = &self.people;
        let pass = |script: &mut Script<'_>| pass(script).map_err(|need| need.naming(people));
        match drive(pass, answers, self.backend.model, self.backend.embedder).await {
            Ok(outcome) => Some(outcome),
            Err(error) => {
                self.report.failed.push((stage, error));
                None
            }
        }
    }

    /// Gives a stage replies that another question brought, unless it already has some.
    pub(super) fn give<const N: usize>(
        &mut self,
        stage: CycleStage,
        member: Option<&str>,
        replies: [(Purpose, Option<String>); N],
    ) {
        let usual = self.usual();
        let given: Vec<(Purpose, String)> =
            replies.into_iter().filter_map(|(purpose, reply)| Some((purpose, reply?))).collect();
        if !given.is_empty() {
            self.progress.0.entry(key(stage, member)).or_insert_with(|| Answers {
                given,
                vectors: usual,
                ..Answers::default()
            });
        }
    }

    fn usual(&self) -> Vectors {
        if self.backend.embedder.is_some() { Vectors::on() } else { Vectors::off() }
    }

    /// Records how much a stage changed.
    pub(super) fn done(&mut self, stage: CycleStage, changed: usize) {
        self.report.done.push((stage, changed));
    }
}
