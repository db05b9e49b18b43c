//! One measured figure.

use std::{io, time::Duration};

use cpu_time::ThreadTime;
use serde::Serialize;

/// A figure and what it is compared with.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
    /// The other side divided by ours, or ours by the limit: see `against`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// What the ratio is to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
}

impl Figure {
    /// A figure without comparison.
    pub fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value, unit, ratio: None, against: None }
    }

    /// The same with a ratio.
    #[must_use]
    pub fn against(self, ratio: f64, against: impl Into<String>) -> Self {
        Self { ratio: Some(ratio), against: Some(against.into()), ..self }
    }
}

/// Writes figures as a table or as one JSON object a line.
pub struct Printer<W> {
    out: W,
    json: bool,
}

impl<W: io::Write> Printer<W> {
    /// Prints to `out`.
    pub fn new(out: W, json: bool) -> Self {
        Self { out, json }
    }

    /// Prints one figure.
    pub fn print(&mut self, figure: &Figure) -> io::Result<()> {
        if self.json {
            return writeln!(self.out, "{}", serde_json::to_string(figure)?);
        }
        let ratio = match (figure.ratio, &figure.against) {
            (Some(ratio), Some(against)) => format!("  {:>12}  {against}", significant(ratio)),
            _ => String::new(),
        };
        writeln!(
            self.out,
            "{:<66} {:>12} {:<8}{ratio}",
            figure.name,
            significant(figure.value),
            figure.unit
        )
    }
}

fn significant(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// The CPU time of one call, as the median of as many as fit into `limit`, in
/// microseconds. CPU time, because the machine may be shared.
pub(super) fn median_micros<R>(limit: Duration, mut call: impl FnMut() -> R) -> f64 {
    let mut times = Vec::new();
    let begin = ThreadTime::now();
    while times.len() < 5 || (begin.elapsed() < limit && times.len() < 2000) {
        let start = ThreadTime::now();
        std::hint::black_box(call());
        times.push(start.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}
