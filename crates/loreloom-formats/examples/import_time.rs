//! How long does it take to read a lorebook?
//!
//! `cargo run --release -p loreloom-formats --example import_time -- book.json`

use std::{env, error::Error, io::Write as _, time::Instant};

use loreloom_formats::{ImportOptions, import};

#[expect(clippy::disallowed_methods, reason = "an example reads the file it is given")]
fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("name a lorebook file")?;
    let bytes = std::fs::read(&path)?;
    let mut times = Vec::new();
    let mut entries = 0;
    for _ in 0..9 {
        let start = Instant::now();
        let imported = import(&bytes, &ImportOptions::new("book"))?;
        times.push(start.elapsed());
        entries = imported.book.entries.len();
    }
    times.sort_unstable();
    let out = &mut std::io::stdout();
    writeln!(out, "{entries} entries, {} bytes: median {:.1?} of 9", bytes.len(), times[4])?;
    Ok(())
}
