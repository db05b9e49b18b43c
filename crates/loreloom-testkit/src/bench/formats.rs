//! Reading and writing a large lorebook: 10,000 entries in 3 MB.

use std::fmt::Write as _;

use cpu_time::ThreadTime;
use loreloom_formats::{ExportOptions, Format, ImportOptions, Imported, export, import};

use super::figure::Figure;

const ENTRIES: usize = 10_000;
/// The size of the file, in bytes.
const BYTES: usize = 3_000_000;
/// The most that reading may take, in milliseconds.
const LIMIT: f64 = 150.0;
/// Runs, of which the middle one counts.
const RUNS: usize = 5;

pub(super) fn run(print: &mut dyn FnMut(Figure)) -> Result<(), String> {
    let file = book();
    let read = || import(&file, &ImportOptions::new("bench")).map_err(|error| error.to_string());
    let imported = read()?;
    if imported.book.entries.len() != ENTRIES {
        return Err(format!("{} entries instead of {ENTRIES}", imported.book.entries.len()));
    }
    let size = format!("{ENTRIES} entries, {:.1} MB", megabytes(file.len()));
    let taken = median(|| read().map(drop))?;
    let figure = Figure::new(format!("import {size}"), taken, "ms");
    print(figure.against(taken / LIMIT, "of the limit of 150 ms"));
    let mut edited = imported.book.clone();
    if let Some(entry) = edited.entries.last_mut() {
        entry.content.push_str(" And more.");
    }
    let edited = Imported { book: edited, ..imported };
    for (name, format) in
        [("save one edit", Format::Sillytavern), ("export as card-v3", Format::CardV3)]
    {
        let taken = median(|| write(&edited, format, &file))?;
        print(Figure::new(format!("{name}, {size}"), taken, "ms"));
    }
    Ok(())
}

fn write(imported: &Imported, format: Format, original: &[u8]) -> Result<(), String> {
    let options = ExportOptions { original: Some(original), ..ExportOptions::default() };
    export(&imported.book, format, &options).map(drop).map_err(|error| error.to_string())
}

/// The middle of several runs, in milliseconds of this thread.
fn median(mut job: impl FnMut() -> Result<(), String>) -> Result<f64, String> {
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let start = ThreadTime::now();
        job()?;
        times.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2])
}

#[expect(clippy::cast_precision_loss, reason = "a size to show")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

/// A book of that size, as SillyTavern would write it.
fn book() -> Vec<u8> {
    let mut text = String::from("{\"entries\": {");
    for at in 0..ENTRIES {
        let comma = if at == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _written = write!(
            text,
            "{comma}\n\"{at}\": {{\"uid\": {at}, \"key\": [\"place {at}\", \"/quay{at}(s|ing)?/i\"], \
             \"comment\": \"Entry {at}\", \"constant\": false, \"selective\": true, \"order\": {}, \
             \"position\": {}, \"disable\": false, \"probability\": 100, \"useProbability\": true, \
             \"content\": \"",
            at % 1000,
            at % 5
        );
        let room = (BYTES / ENTRIES * (at + 1)).saturating_sub(text.len() + 4);
        text.extend("The harbor is grey. ".chars().cycle().take(room));
        text.push_str("\"}");
    }
    text.push_str("}}");
    text.into_bytes()
}
