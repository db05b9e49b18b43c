//! Log lines on standard error: for people, or one JSON object in a line for programs.
//!
//! The form is known only after settings are read, so it can be switched. Lines before that are
//! for people. Colours are for terminals only.

use std::{
    fmt,
    io::{self, IsTerminal as _, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use loreloom_ports::Clock as _;
use serde_json::{Map, Value, json};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id},
};
use tracing_subscriber::{
    EnvFilter, Layer,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
    util::SubscriberInitExt as _,
};

use crate::{clock::SystemClock, dates};

static JSON: AtomicBool = AtomicBool::new(false);

/// Begins to write log lines. `LORELOOM_LOG` says which.
pub(crate) fn begin() {
    let filter = EnvFilter::try_from_env("LORELOOM_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let has_colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    // A log on a full disk must not stop a turn: complaining about it on `stderr` would panic.
    let for_people = tracing_subscriber::fmt::layer()
        .with_ansi(has_colours)
        .with_writer(writer)
        .log_internal_errors(false);
    tracing_subscriber::registry().with(filter).with(for_people).with(JsonLines).init();
}

/// Writes JSON from now on.
pub(crate) fn write_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// Writes what a person reads at the start as one object, if lines are JSON.
pub(crate) fn wrote_json(message: &str, fields: &Value) -> bool {
    if !JSON.load(Ordering::Relaxed) {
        return false;
    }
    let mut line = head(tracing::Level::INFO, env!("CARGO_CRATE_NAME"));
    line.insert("message".to_owned(), json!(message));
    line.extend(fields.as_object().cloned().unwrap_or_default());
    write_line(line);
    true
}

/// What every line begins with.
fn head(level: tracing::Level, target: &str) -> Map<String, Value> {
    let mut line = Map::new();
    line.insert("time".to_owned(), json!(dates::stamp(SystemClock.now())));
    line.insert("level".to_owned(), json!(level.as_str()));
    line.insert("target".to_owned(), json!(target));
    line
}

/// One write for each line, so that lines of threads do not mix. Nothing is left to do if it
/// cannot be written.
fn write_line(line: Map<String, Value>) {
    let _unwritten = io::stderr().write_all(format!("{}\n", Value::Object(line)).as_bytes());
}

/// Where lines for people go.
fn writer() -> Box<dyn Write> {
    if JSON.load(Ordering::Relaxed) { Box::new(io::sink()) } else { Box::new(io::stderr()) }
}

/// Writes each event as a JSON object.
struct JsonLines;

/// The fields of a span, kept for the lines inside it.
struct SpanFields(Map<String, Value>);

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for JsonLines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(SpanFields(fields.0));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if !JSON.load(Ordering::Relaxed) {
            return;
        }
        let metadata = event.metadata();
        let mut line = head(*metadata.level(), metadata.target());
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(SpanFields(fields)) = span.extensions().get() {
                line.insert(span.name().to_owned(), json!(fields));
            }
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        line.append(&mut fields.0);
        write_line(line);
    }
}

/// Fields as JSON.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), json!(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), json!(value));
    }
}
