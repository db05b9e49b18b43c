//! One thing that lint found, in words.

use std::io::Write;

use loreloom_core::{
    dialects::vault::{IssueKind, Severity},
    hygiene::HazardCount,
};
use loreloom_formats::vault::{Fault, NoteWarning, OddValue, Skip, WarningCode};
use serde::Serialize;

/// Something odd.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    /// The file.
    pub(super) path: String,
    /// Its line, from 1 on, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<usize>,
    /// The note or entry; empty where it is about the whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) title: String,
    pub(super) severity: Severity,
    pub(super) code: String,
    pub(super) message: String,
    /// Whether `--fix` puts it right.
    pub(super) fixable: bool,
}

impl Finding {
    pub(super) fn new(path: &str, severity: Severity, code: &str, message: String) -> Self {
        let (path, code) = (path.to_owned(), code.to_owned());
        Self { path, line: None, title: String::new(), severity, code, message, fixable: false }
    }

    /// What is odd about a note.
    pub(super) fn of_issue(path: &str, title: &str, kind: &IssueKind) -> Self {
        let code = serde_json::to_value(kind).ok();
        let code = code.as_ref().and_then(|kind| kind["code"].as_str()).unwrap_or_default();
        let finding = Self::new(path, kind.severity(), code, issue(kind));
        Self { title: title.to_owned(), ..finding }
    }

    /// What reading a note put right.
    pub(super) fn of_warning(path: &str, warning: &NoteWarning, fixable: bool) -> Self {
        let severity = match warning.code {
            WarningCode::Invalid | WarningCode::NotYaml => Severity::Warning,
            WarningCode::AliasUsed
            | WarningCode::CommaSplit
            | WarningCode::CoercedNumber
            | WarningCode::NotImplemented
            | WarningCode::RoundTrip => Severity::Hint,
        };
        let finding = Self::new(path, severity, warning.code.code(), self::warning(warning));
        Self { fixable, ..finding }
    }

    /// A value that is not used as written.
    pub(super) fn of_odd(path: &str, odd: &OddValue) -> Self {
        let OddValue { field, rule, found } = odd;
        let message = format!("`{field}` {rule}, found `{found}`");
        Self::new(path, Severity::Warning, WarningCode::Invalid.code(), message)
    }

    /// Fields that cannot be read as they are meant, and whether the note is lost for that.
    pub(super) fn of_fault(path: &str, fault: Fault, is_lost: bool) -> Self {
        let (code, what) = match fault {
            Fault::Unclosed { .. } => ("W_UNCLOSED", "its fields have no `---` behind them"),
            Fault::NotYaml { .. } => (WarningCode::NotYaml.code(), "its fields are not YAML"),
        };
        let rest = if is_lost { ", so it is no lore" } else { " and were read line by line" };
        let finding = Self::new(path, Severity::Warning, code, format!("{what}{rest}"));
        Self { line: Some(fault.line()), ..finding }
    }

    /// A file that is not lore.
    pub(super) fn of_skip(path: &str, skip: Skip) -> Self {
        let (severity, message) = match skip {
            Skip::NoFrontmatter => (Severity::Hint, "is no lore: it has no fields"),
            Skip::NoLoreTag => (Severity::Hint, "is no lore: it has no tag that marks it"),
            Skip::Disabled => (Severity::Hint, "is switched off"),
            Skip::NeverTag => (Severity::Hint, "is never read: its tag says so"),
            Skip::EmptyTitle => (Severity::Warning, "has no title"),
        };
        Self::new(path, severity, skip.code(), message.to_owned())
    }

    pub(super) fn print(&self, out: &mut dyn Write, json: bool) -> anyhow::Result<()> {
        if json {
            writeln!(out, "{}", serde_json::to_string(self)?)?;
            return Ok(());
        }
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Hint => "hint",
        };
        let fix = if self.fixable { " (--fix)" } else { "" };
        let named = !self.title.is_empty() && !self.path.ends_with(&format!("{}.md", self.title));
        let title = if named { format!(" ({})", self.title) } else { String::new() };
        let line = self.line.map_or_else(String::new, |line| format!(":{line}"));
        let Self { path, message, code, .. } = self;
        writeln!(out, "{path}{line}{title}: {word}: {message} [{code}]{fix}")?;
        Ok(())
    }
}

fn warning(warning: &NoteWarning) -> String {
    let field = &warning.field;
    match warning.code {
        WarningCode::AliasUsed => format!("`{field}` is spelt in another case"),
        WarningCode::CommaSplit => format!("`{field}` is text with commas, read as a list"),
        WarningCode::CoercedNumber => format!("`{field}` is a number written as text"),
        WarningCode::Invalid => format!("`{field}` has a value that means nothing"),
        WarningCode::NotImplemented => format!("`{field}` does nothing in a vault yet"),
        WarningCode::RoundTrip => format!("`{field}` is World Info's and only carried along"),
        WarningCode::NotYaml => "its fields are not YAML and were read line by line".to_owned(),
    }
}

#[expect(clippy::too_many_lines, reason = "a table of words")]
fn issue(kind: &IssueKind) -> String {
    match kind {
        IssueKind::NoKeys => "has no keys, so nothing brings it in".to_owned(),
        IssueKind::EmptyContent => "has no text".to_owned(),
        IssueKind::UnknownRequired { title } => {
            format!("requires `{title}`, which no note is called, so it never comes in")
        }
        IssueKind::IdleRequires { title } => {
            format!("requires `{title}`, which no note is called; it is always in, so that is idle")
        }
        IssueKind::UnknownExcluded { title } => {
            format!("excludes `{title}`, which no note is called")
        }
        IssueKind::UnknownCascade { title } => {
            format!("brings along `{title}`, which no note is called")
        }
        IssueKind::ExcludesItself => "excludes itself, so it never comes in".to_owned(),
        IssueKind::RequiresAndExcludes { title } => {
            format!("requires and excludes `{title}`, so it never comes in")
        }
        IssueKind::CircularRequires { circle } => {
            format!("requires itself: {} → {}", circle.join(" → "), circle[0])
        }
        IssueKind::ExcludesConstant { title } => {
            format!("excludes `{title}`, which is always in, so it never comes in")
        }
        IssueKind::ExcludesBootstrap { title } => {
            format!("excludes `{title}`, which is in while a chat is new, so until then it is not")
        }
        IssueKind::Large { tokens } => format!("is large: {tokens} tokens"),
        IssueKind::LargeSeed { tokens } => format!("is large for a seed: {tokens} tokens"),
        IssueKind::ShortKey { key } => format!("the key `{key}` is found everywhere"),
        IssueKind::SharedKey { key, with } => {
            format!("shares the key `{key}` with {}", with.join(", "))
        }
        IssueKind::CooldownOnConstant => "is always in, so its cooldown does nothing".to_owned(),
        IssueKind::DepthOutsideChat => {
            "has a depth or role, but does not say `position: in_chat`".to_owned()
        }
        IssueKind::ProbabilityZero => "has a chance of 0, so it never comes in".to_owned(),
        IssueKind::DuplicateTitle => "other notes have the same title".to_owned(),
        IssueKind::UnknownLinks { titles } => {
            format!("links to what no note is called: {}", titles.join(", "))
        }
        IssueKind::BootstrapWithoutKeys => {
            "has no keys, so nothing brings it in once the chat is no longer new".to_owned()
        }
        IssueKind::WarmupOnShortKeys => {
            "waits for keys so short that they are everywhere".to_owned()
        }
        IssueKind::NeverScanned => {
            "has a scan depth of 0, so its keys are never looked for".to_owned()
        }
        IssueKind::NoSummary => {
            "has no summary: the selecting model reads the beginning of its text".to_owned()
        }
        IssueKind::UnsafeText { found } => HazardCount::sentence(found),
        IssueKind::ScanDepthZero => {
            "the scan depth is 0 and no model selects: only constants come in".to_owned()
        }
        IssueKind::SmallBudget { budget } => {
            format!("the budget of {budget} tokens is small: hardly anything fits")
        }
        IssueKind::ConstantsOverBudget { tokens, budget } => {
            format!("notes that are always in have {tokens} tokens, the budget is {budget}")
        }
        IssueKind::RecursionWithoutKeys
        | IssueKind::NoSelector
        | IssueKind::ReadEveryTurn { .. }
        | IssueKind::Stale { .. }
        | IssueKind::NotRead { .. }
        | IssueKind::NoLore { .. }
        | IssueKind::NoKey { .. }
        | IssueKind::Unmet { .. } => setup(kind),
    }
}

/// What is odd about how vaults are set up.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others are findings about single notes")]
fn setup(kind: &IssueKind) -> String {
    match kind {
        IssueKind::RecursionWithoutKeys => {
            "recursion is on, but no note has keys to be found by".to_owned()
        }
        IssueKind::NoSelector => {
            "a model is to choose notes, but none is named: `--selector-model NAME`".to_owned()
        }
        IssueKind::ReadEveryTurn { .. } => {
            "its time to live is 0, so all of it is read again at every turn".to_owned()
        }
        IssueKind::Stale { seconds, ttl, .. } => {
            format!("it was read {seconds} seconds ago and is to be read every {ttl}")
        }
        IssueKind::NotRead { reason, .. } => format!("it cannot be read: {reason}"),
        IssueKind::NoLore { advice, .. } => format!("none of its notes is lore: {advice}"),
        IssueKind::NoKey { .. } => "no key is named for it: `--vault-key-env VARIABLE`".to_owned(),
        IssueKind::Unmet { query, times } => {
            format!("`{query}` was looked for {times} times, and no note tells it")
        }
        _ => String::new(),
    }
}
