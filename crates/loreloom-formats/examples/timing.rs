//! How long does it take to read a lorebook, and to write it back?
//!
//! `cargo run --release -p loreloom-formats --example timing -- book.json`

use std::{
    env,
    error::Error,
    io::Write as _,
    time::{Duration, Instant},
};

use loreloom_formats::{ExportOptions, Format, ImportOptions, export, import};

fn median<T, E>(mut job: impl FnMut() -> Result<T, E>) -> Result<Duration, E> {
    let mut times = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        let _kept = job()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times[2])
}

#[expect(clippy::disallowed_methods, reason = "an example reads the file it is given")]
fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("name a lorebook file")?;
    let bytes = std::fs::read(&path)?;
    let imported = import(&bytes, &ImportOptions::new("book"))?;
    let mut edited = imported.book.clone();
    if let Some(entry) = edited.entries.last_mut() {
        entry.content.push_str(" And more.");
    }
    let options = ExportOptions { original: Some(&bytes), ..ExportOptions::default() };
    let home = imported.format;
    let abroad = if home == Format::CardV3 { Format::Sillytavern } else { Format::CardV3 };
    let out = &mut std::io::stdout();
    writeln!(out, "{home}, {} entries, {} bytes", edited.entries.len(), bytes.len())?;
    let read = median(|| import(&bytes, &ImportOptions::new("book")))?;
    writeln!(out, "read            {read:>10.1?}")?;
    let same = median(|| export(&imported.book, home, &options))?;
    writeln!(out, "write unedited  {same:>10.1?}")?;
    let patched = median(|| export(&edited, home, &options))?;
    writeln!(out, "write one edit  {patched:>10.1?}")?;
    let crossed = median(|| export(&edited, abroad, &ExportOptions::default()))?;
    writeln!(out, "write {abroad:<9} {crossed:>10.1?}")?;
    Ok(())
}
