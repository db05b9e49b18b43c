//! Figures of the running server. A restart forgets them.

use crate::{fail_opens::FailOpens, metrics::Metrics, timings::Timings, turn::RepeatedWarnings};

/// Figures of the running server.
#[derive(Default)]
pub(crate) struct Figures {
    pub(crate) metrics: Metrics,
    pub(crate) timings: Timings,
    pub(crate) fail_opens: FailOpens,
    pub(crate) repeated: RepeatedWarnings,
}
