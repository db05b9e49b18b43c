//! Figures of the running server, as Prometheus reads them.
//!
//! A handful of counters and histograms need no registry: they are atomics, and a scrape writes
//! them down.

mod histogram;
mod process;
mod store;
mod upstream;

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

pub(crate) use self::store::StoreWork;
use self::{
    histogram::Histogram, process::ProcessFigures, store::StoreFigures, upstream::Upstreams,
};
use loreloom_core::report::{BudgetUse, Verdict, VerdictClass};

use crate::turn::FAIL_OPEN_REASONS;

/// Pools with their own token counts; all others count as `other`.
const POOLS: [&str; 5] = ["world_info", "cards", "cards_semantic", "vault", "memory"];

/// The figures.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: AtomicU64,
    asked: AtomicU64,
    failed_open: AtomicU64,
    turns: AtomicU64,
    replies: AtomicU64,
    cut: AtomicU64,
    tokens: [AtomicU64; POOLS.len() + 1],
    added: Histogram,
    queued: Histogram,
    reasons: [AtomicU64; FAIL_OPEN_REASONS.len()],
    api: [AtomicU64; 5],
    /// What models' servers did.
    pub(crate) upstreams: Upstreams,
    /// What the store did for turns.
    pub(crate) store: StoreFigures,
}

fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Metrics {
    /// A request came that is passed on.
    pub(crate) fn passed_on(&self) {
        add(&self.requests, 1);
    }

    /// Lore was woven into a request, or was not in time.
    pub(crate) fn weaving_took(&self, time: Duration, failed: Option<&'static str>) {
        self.added.add(time);
        add(&self.asked, 1);
        add(&self.failed_open, u64::from(failed.is_some()));
        if let Some(at) = FAIL_OPEN_REASONS.iter().position(|reason| failed == Some(reason)) {
            add(&self.reasons[at], 1);
        }
    }

    /// A turn waited for its slot.
    pub(crate) fn queue_took(&self, time: Duration) {
        self.queued.add(time);
    }

    /// A turn was stored.
    pub(crate) fn turn(&self, budgets: &[BudgetUse], verdicts: &[Verdict]) {
        add(&self.turns, 1);
        for budget in budgets {
            let pool = POOLS.iter().position(|pool| *pool == budget.pool);
            add(&self.tokens[pool.unwrap_or(POOLS.len())], u64::from(budget.used.0));
        }
        let cut = verdicts.iter().filter(|verdict| verdict.class() == VerdictClass::Cut);
        add(&self.cut, cut.count() as u64);
    }

    /// A reply was stored.
    pub(crate) fn reply(&self) {
        add(&self.replies, 1);
    }

    /// A call of the API was answered.
    pub(crate) fn api_call(&self, status: http::StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        add(&self.api[class], 1);
    }

    /// All figures in the text format of Prometheus; `jobs` are those that wait or run, `queue`
    /// is how many turns wait to be decided, `waiting` how many wait to be stored.
    pub(crate) fn text(&self, jobs: &[(&str, usize)], queue: usize, waiting: usize) -> String {
        let mut out = String::new();
        let mut one = |name: &str, kind: &str, help: &str, rows: &[(String, u64)]| {
            // Writing into a text does not fail.
            let _fine =
                writeln!(out, "# HELP loreloom_{name} {help}\n# TYPE loreloom_{name} {kind}");
            for (labels, value) in rows {
                let _fine = writeln!(out, "loreloom_{name}{labels} {value}");
            }
        };
        let plain = |counter: &AtomicU64| vec![(String::new(), get(counter))];
        one("requests_total", "counter", "Requests passed on.", &plain(&self.requests));
        one("weavings_total", "counter", "Requests that lore was woven into.", &plain(&self.asked));
        one(
            "fail_open_total",
            "counter",
            "Requests that went on without lore.",
            &plain(&self.failed_open),
        );
        one("turns_total", "counter", "Turns stored.", &plain(&self.turns));
        one("replies_total", "counter", "Replies stored.", &plain(&self.replies));
        one("cut_total", "counter", "Entries that had no room.", &plain(&self.cut));
        let pools = POOLS.iter().chain(&["other"]).zip(&self.tokens);
        let pools: Vec<(String, u64)> =
            pools.map(|(pool, tokens)| (format!("{{pool=\"{pool}\"}}"), get(tokens))).collect();
        one("tokens_total", "counter", "Tokens woven in, by pool.", &pools);
        let api = (1..).zip(&self.api);
        let api: Vec<(String, u64)> =
            api.map(|(class, count)| (format!("{{status=\"{class}xx\"}}"), get(count))).collect();
        one("api_calls_total", "counter", "Calls of the API, by status.", &api);
        let jobs: Vec<(String, u64)> = jobs
            .iter()
            .map(|(state, count)| (format!("{{state=\"{state}\"}}"), *count as u64))
            .collect();
        one("jobs", "gauge", "Jobs, by state.", &jobs);
        let reasons = FAIL_OPEN_REASONS.iter().zip(&self.reasons);
        let reasons: Vec<(String, u64)> = reasons
            .map(|(reason, count)| (format!("{{reason=\"{reason}\"}}"), get(count)))
            .collect();
        let help = "Requests that went on without lore, by reason.";
        one("fail_open_reasons_total", "counter", help, &reasons);
        one("queue_length", "gauge", "Turns that wait.", &[(String::new(), queue as u64)]);
        let help = "Turns that the store did not take yet.";
        one("turns_waiting", "gauge", help, &[(String::new(), waiting as u64)]);
        self.added.write(&mut out, "weaving_seconds", "Time that weaving added.");
        self.queued.write(&mut out, "queue_seconds", "Time that turns waited in the queue.");
        self.upstreams.write(&mut out);
        self.store.write(&mut out);
        ProcessFigures::now().write(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_up() {
        let metrics = Metrics::default();
        metrics.weaving_took(Duration::from_micros(300), None);
        metrics.weaving_took(Duration::from_secs(2), Some("queue"));
        metrics.queue_took(Duration::from_millis(40));
        let text = metrics.text(&[("waiting", 2)], 7, 3);
        for line in [
            "loreloom_weaving_seconds_bucket{le=\"0.00025\"} 0",
            "loreloom_weaving_seconds_bucket{le=\"0.0005\"} 1",
            "loreloom_weaving_seconds_bucket{le=\"+Inf\"} 2",
            "loreloom_weaving_seconds_sum 2.0003",
            "loreloom_fail_open_total 1",
            "loreloom_fail_open_reasons_total{reason=\"queue\"} 1",
            "loreloom_fail_open_reasons_total{reason=\"deadline\"} 0",
            "loreloom_queue_length 7",
            "loreloom_turns_waiting 3",
            "loreloom_queue_seconds_bucket{le=\"0.05\"} 1",
            "loreloom_queue_seconds_count 1",
            "loreloom_jobs{state=\"waiting\"} 2",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} is not in {text}");
        }
    }
}
