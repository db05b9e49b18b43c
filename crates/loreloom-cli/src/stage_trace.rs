//! How a turn's stages went: how many notes were in after each, and how long it took.

use std::{
    io::Write,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use loreloom_core::{report::VaultMode, turn::TurnCache};
use serde::Serialize;

/// A stage of a turn.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StageLine {
    /// Its name.
    pub(crate) stage: &'static str,
    /// How many notes are in after it.
    pub(crate) notes: usize,
    /// How long it took.
    pub(crate) micros: u128,
}

/// The stages of a turn, with their times.
#[derive(Clone, Debug, Default)]
pub(crate) struct StageTrace(Arc<Mutex<Vec<StageLine>>>);

impl StageTrace {
    /// Watches the turns that are decided with a cache.
    pub(crate) fn watch(cache: &mut TurnCache) -> Self {
        let stages = Self::default();
        let (lines, mut begun) = (stages.clone(), Instant::now());
        cache.watch_vault(move |stage| {
            let micros = begun.elapsed().as_micros();
            let line = StageLine { stage: stage.name, notes: stage.notes, micros };
            lines.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            begun = Instant::now();
        });
        stages
    }

    /// The stages so far.
    pub(crate) fn lines(&self) -> Vec<StageLine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Prints who decided, and stages as a table.
pub(crate) fn print(
    out: &mut dyn Write,
    mode: Option<VaultMode>,
    stages: &[StageLine],
) -> std::io::Result<()> {
    if let Some(mode) = mode {
        writeln!(out, "mode: {}", mode.as_str())?;
    }
    writeln!(out, "{:<24} {:>6} {:>8}", "STAGE", "NOTES", "µs")?;
    for StageLine { stage, notes, micros } in stages {
        writeln!(out, "{stage:<24} {notes:>6} {micros:>8}")?;
    }
    Ok(())
}
