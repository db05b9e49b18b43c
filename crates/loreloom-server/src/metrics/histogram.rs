//! Times in steps.

use std::{fmt::Write as _, sync::atomic::AtomicU64, time::Duration};

use super::{add, get};

/// Upper bounds of the histograms of time, in microseconds.
const BOUNDS: [u64; 15] = [
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 150_000, 500_000, 1_000_000,
    2_000_000, 10_000_000, 60_000_000,
];

/// Times in steps.
#[derive(Default)]
pub(super) struct Histogram {
    counts: [AtomicU64; BOUNDS.len() + 1],
    sum: AtomicU64,
}

impl Histogram {
    pub(super) fn add(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let at = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        add(&self.counts[at], 1);
        add(&self.sum, micros);
    }

    /// Writes a histogram without labels.
    pub(super) fn write(&self, out: &mut String, name: &str, help: &str) {
        write_head(out, name, help);
        self.write_rows(out, name, "");
    }

    /// Writes the rows of a histogram. `labels` are written before those of the steps.
    pub(super) fn write_rows(&self, out: &mut String, name: &str, labels: &str) {
        let (name, comma) = (format!("loreloom_{name}"), if labels.is_empty() { "" } else { "," });
        let mut total = 0;
        for (bound, count) in BOUNDS.iter().zip(&self.counts) {
            total += get(count);
            let bound = seconds(*bound);
            let _fine = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {total}");
        }
        total += get(&self.counts[BOUNDS.len()]);
        let braced = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _fine = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {total}");
        let _fine = writeln!(out, "{name}_sum{braced} {}", seconds(get(&self.sum)));
        let _fine = writeln!(out, "{name}_count{braced} {total}");
    }
}

/// Writes what a histogram is about.
pub(super) fn write_head(out: &mut String, name: &str, help: &str) {
    // Writing into a text does not fail.
    let _fine = writeln!(out, "# HELP loreloom_{name} {help}\n# TYPE loreloom_{name} histogram");
}

fn seconds(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64()
}
