//! Verdicts as a table for the terminal.

use std::io::{self, Write};

use loreloom_core::{
    ids::EntryId,
    library::Library,
    report::{Outcome, Verdict, words},
};

/// The longest title that is shown whole.
const WIDEST: usize = 28;

/// Prints verdicts, those that fired first.
pub(crate) fn print(
    out: &mut dyn Write,
    verdicts: &[Verdict],
    library: &Library,
) -> io::Result<()> {
    let names = |id: &EntryId| library.title(id).unwrap_or(id.as_str()).to_owned();
    let width = verdicts.iter().map(|verdict| verdict.title.chars().count()).max().unwrap_or(5);
    let width = width.clamp(5, WIDEST);
    writeln!(out, "{:<width$}  {:<8}  {:>6}  WHY", "ENTRY", "VERDICT", "TOKENS")?;
    for verdict in verdicts {
        let word = match &verdict.outcome {
            // It fired, but it has no text or names no place.
            Outcome::Activated { place: None, .. } => "not sent",
            Outcome::Activated { place: Some(_), .. } => "woven",
            Outcome::Stopped(_) if verdict.lingers() => "lingers",
            Outcome::Stopped(_) => "out",
        };
        let tokens = verdict.tokens().map_or("-".to_owned(), |tokens| tokens.to_string());
        let title = cut(&verdict.title, width);
        let why = words::chain(verdict, verdicts, &names);
        writeln!(out, "{title:<width$}  {word:<8}  {tokens:>6}  {why}")?;
    }
    Ok(())
}

fn cut(title: &str, width: usize) -> String {
    if title.chars().count() <= width {
        return title.to_owned();
    }
    title.chars().take(width - 1).chain(['…']).collect()
}
