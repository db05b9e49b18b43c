//! Lore tests: expectations kept in files beside the lore.

use std::{io::Write, path::PathBuf};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::{
    lore_tests::{TestResult, TestSetup, run},
    units::Tokens,
};
use loreloom_formats::lore_tests;
use serde::Serialize;

use super::Different;
use crate::{
    files, is_broken_pipe,
    lore::LoreArguments,
    settings::{Flags, StoryFlags},
    tokenizer::TokenizerArguments,
};

/// Run lore tests: check that the expected entries fire.
///
/// Ends with status 1 if an expectation does not hold, and with 2 if a file cannot be read.
/// docs/lore-tests.md says what such a file holds.
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// Files of tests (YAML)
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    lore: LoreArguments,

    #[command(flatten)]
    story: Flags<StoryFlags>,

    /// Print one JSON object a file for scripts
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    tokenizer: TokenizerArguments,
}

#[derive(Serialize)]
struct Tested<'run> {
    file: &'run str,
    passed: usize,
    failed: usize,
    tests: &'run [TestResult],
}

impl Test {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        anyhow::ensure!(
            !self.lore.is_empty(),
            "name the lore to test with `--book FILE` or `--vault DIR`"
        );
        // All files are read before anything is run.
        let mut read = Vec::with_capacity(self.files.len());
        for path in &self.files {
            let text = String::from_utf8(files::read(path)?);
            let text = text.with_context(|| format!("`{}`", path.display()))?;
            let tests = lore_tests::read(&text);
            read.push((path, tests.with_context(|| format!("`{}`", path.display()))?));
        }
        let counter = self.tokenizer.load()?;
        let settings = self.lore.started(self.story.changes.clone())?.settings;
        let source = self.lore.library_source(&settings)?;
        let library = source.compile();
        let setup = TestSetup {
            library: &library,
            rules: &source.rules,
            counter: counter.as_ref(),
            user: &settings.story.user,
            context: Tokens(settings.story.context),
        };
        let mut failures = 0;
        for (path, tests) in read {
            let results = run(&tests, &setup, |_| None);
            let failed = results.iter().filter(|one| !one.passed).count();
            failures += failed;
            let file = path.display().to_string();
            let passed = results.len() - failed;
            let tested = Tested { file: &file, passed, failed, tests: &results };
            match self.print(out, &tested) {
                // A reader that has seen enough (`| head`) still gets the status.
                Err(error) if !is_broken_pipe(&error) => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        if failures > 0 { Err(Different.into()) } else { Ok(()) }
    }

    fn print(&self, out: &mut dyn Write, tested: &Tested<'_>) -> anyhow::Result<()> {
        if self.json {
            return Ok(writeln!(out, "{}", serde_json::to_string(tested)?)?);
        }
        let Tested { file, passed, failed, tests } = tested;
        writeln!(out, "{file}: {passed} passed, {failed} failed")?;
        for test in *tests {
            let mark = if test.passed { "ok" } else { "FAILED" };
            writeln!(out, "  {mark:<6} {}", test.name)?;
            for check in &test.checks {
                if let Some(failure) = &check.failure {
                    writeln!(out, "         expected {}: {failure}", check.expected)?;
                }
            }
        }
        Ok(())
    }
}
