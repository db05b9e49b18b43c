//! Figures of the store, as turns see it.

use std::{sync::atomic::AtomicU64, time::Instant};

use loreloom_ports::StoreError;

use super::{
    add, get,
    histogram::{Histogram, write_head},
    upstream::write_counters,
};
use crate::waiting::is_outage;

/// What a turn asks the store to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreWork {
    /// To read the state of a story.
    Read,
    /// To write a turn.
    Turn,
    /// To write a reply.
    Reply,
}

const ALL: [(StoreWork, &str); 3] =
    [(StoreWork::Read, "read"), (StoreWork::Turn, "turn"), (StoreWork::Reply, "reply")];

/// What the store did for turns.
#[derive(Default)]
pub(crate) struct StoreFigures([(Histogram, AtomicU64); ALL.len()]);

impl StoreFigures {
    /// Measures work of the store. Only failures of the store itself count as errors, and not
    /// that something is not there.
    pub(crate) async fn measure<T>(
        &self,
        work: StoreWork,
        doing: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        let done = doing.await;
        let (took, errors) = &self.0[work as usize];
        took.add(began.elapsed());
        add(errors, u64::from(done.as_ref().is_err_and(is_outage)));
        done
    }

    pub(super) fn write(&self, out: &mut String) {
        let name = "store_seconds";
        write_head(out, name, "Time that the store took for a turn, by work.");
        for ((_, work), (took, _)) in ALL.iter().zip(&self.0) {
            took.write_rows(out, name, &format!("work=\"{work}\""));
        }
        let errors = ALL.iter().zip(&self.0);
        let errors = errors.map(|((_, work), (_, count))| (format!("work=\"{work}\""), get(count)));
        write_counters(out, "store_errors_total", "Failures of the store, by work.", errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_failures_of_the_store_itself_are_errors() {
        let figures = StoreFigures::default();
        let missing = StoreError::NoChat { chat: "c".into() };
        let broken = StoreError::Damaged { what: "w".to_owned(), reason: "r".to_owned() };
        for error in [missing, broken] {
            let done = figures.measure(StoreWork::Turn, async { Err::<(), _>(error) }).await;
            assert!(done.is_err());
        }
        let mut text = String::new();
        figures.write(&mut text);
        for line in [
            "loreloom_store_seconds_count{work=\"turn\"} 2",
            "loreloom_store_seconds_count{work=\"read\"} 0",
            "loreloom_store_errors_total{work=\"turn\"} 1",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} is not in {text}");
        }
    }
}
