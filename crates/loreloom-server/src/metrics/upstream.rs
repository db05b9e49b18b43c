//! Figures of models' servers, by connection.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, PoisonError, RwLock, atomic::AtomicU64},
    time::Instant,
};

use futures_util::TryStreamExt as _;
use loreloom_core::ids::ConnectionId;
use loreloom_ports::{UpstreamError, UpstreamReply};

use super::{
    add, get,
    histogram::{Histogram, write_head},
};

/// Why a server gave no whole answer.
const REASONS: [&str; 4] = ["unreachable", "silent", "resting", "cut"];

fn reason(error: &UpstreamError) -> usize {
    match error {
        UpstreamError::Unreachable { .. } => 0,
        UpstreamError::Silent { .. } => 1,
        UpstreamError::Resting { .. } => 2,
        UpstreamError::Unfinished | UpstreamError::Cut { .. } => 3,
    }
}

/// What models' servers did.
#[derive(Default)]
pub(crate) struct Upstreams(RwLock<BTreeMap<ConnectionId, Arc<UpstreamFigures>>>);

#[derive(Default)]
struct UpstreamFigures {
    /// The time until the head of an answer was there.
    answered: Histogram,
    /// Answers by the first digit of their status.
    statuses: [AtomicU64; 5],
    errors: [AtomicU64; REASONS.len()],
}

impl Upstreams {
    /// Measures a request to a server, and counts an answer that breaks off.
    pub(crate) async fn measure(
        &self,
        connection: &ConnectionId,
        asking: impl Future<Output = Result<UpstreamReply, UpstreamError>>,
    ) -> Result<UpstreamReply, UpstreamError> {
        let began = Instant::now();
        let answer = asking.await;
        let figures = self.of(connection);
        let reply = answer.inspect_err(|error| add(&figures.errors[reason(error)], 1))?;
        figures.answered.add(began.elapsed());
        let class = usize::from(reply.status.as_u16() / 100).clamp(1, 5) - 1;
        add(&figures.statuses[class], 1);
        let counted = move |error: &UpstreamError| add(&figures.errors[reason(error)], 1);
        Ok(UpstreamReply { body: Box::pin(reply.body.inspect_err(counted)), ..reply })
    }

    fn of(&self, connection: &ConnectionId) -> Arc<UpstreamFigures> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(connection).cloned();
        known.unwrap_or_else(|| {
            let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(connection.clone()).or_default())
        })
    }

    pub(super) fn write(&self, out: &mut String) {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let name = "upstream_seconds";
        write_head(out, name, "Time until a model's server began to answer, by connection.");
        for (connection, figures) in &*all {
            figures.answered.write_rows(out, name, &label(connection));
        }
        let help = "Answers of models' servers, by connection and status.";
        let statuses = all.iter().flat_map(|(connection, figures)| {
            let own = label(connection);
            let rows = (1..).zip(&figures.statuses);
            rows.map(move |(class, count)| (format!("{own},status=\"{class}xx\""), get(count)))
        });
        write_counters(out, "upstream_answers_total", help, statuses);
        let help = "Requests without a whole answer, by connection and reason.";
        let errors = all.iter().flat_map(|(connection, figures)| {
            let own = label(connection);
            let rows = REASONS.iter().zip(&figures.errors);
            rows.map(move |(reason, count)| (format!("{own},reason=\"{reason}\""), get(count)))
        });
        write_counters(out, "upstream_errors_total", help, errors);
    }
}

/// The label of a connection. Its name may have any character.
fn label(connection: &ConnectionId) -> String {
    let name = connection.to_string().replace('\\', "\\\\").replace('"', "\\\"");
    format!("connection=\"{}\"", name.replace('\n', "\\n"))
}

/// Writes counters with labels.
pub(super) fn write_counters(
    out: &mut String,
    name: &str,
    help: &str,
    rows: impl Iterator<Item = (String, u64)>,
) {
    // Writing into a text does not fail.
    let _fine = writeln!(out, "# HELP loreloom_{name} {help}\n# TYPE loreloom_{name} counter");
    for (labels, value) in rows {
        let _fine = writeln!(out, "loreloom_{name}{{{labels}}} {value}");
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;

    #[tokio::test]
    async fn answers_and_errors_are_counted_by_connection() {
        let upstreams = Upstreams::default();
        let (one, odd) = (ConnectionId::from("one"), ConnectionId::from("o\"d"));
        let reply = || UpstreamReply {
            status: http::StatusCode::NOT_FOUND,
            headers: http::HeaderMap::new(),
            body: Box::pin(futures_util::stream::iter([Err(UpstreamError::Unfinished)])),
        };
        let reply = upstreams.measure(&one, async { Ok(reply()) }).await.unwrap();
        assert_eq!(reply.body.count().await, 1);
        let silent = UpstreamError::Silent { address: "a".to_owned(), seconds: 1 };
        assert!(upstreams.measure(&odd, async { Err(silent) }).await.is_err());
        let mut text = String::new();
        upstreams.write(&mut text);
        for line in [
            "loreloom_upstream_seconds_count{connection=\"one\"} 1",
            "loreloom_upstream_seconds_bucket{connection=\"one\",le=\"+Inf\"} 1",
            "loreloom_upstream_answers_total{connection=\"one\",status=\"4xx\"} 1",
            "loreloom_upstream_answers_total{connection=\"one\",status=\"2xx\"} 0",
            "loreloom_upstream_errors_total{connection=\"one\",reason=\"cut\"} 1",
            "loreloom_upstream_errors_total{connection=\"o\\\"d\",reason=\"silent\"} 1",
            "loreloom_upstream_seconds_count{connection=\"o\\\"d\"} 0",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} is not in {text}");
        }
    }
}
