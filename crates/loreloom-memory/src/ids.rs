//! Ids for what a pass creates.

/// Creates ids from a seed. The same seed gives the same ids, so a pass can run again from its
/// answers, and a retried job creates nothing twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ids {
    seed: String,
    count: u64,
}

impl Ids {
    /// Ids `seed-1`, `seed-2`, …; the seed must be unique to the job.
    pub fn new(seed: impl Into<String>) -> Self {
        Self { seed: seed.into(), count: 0 }
    }

    /// The next id.
    #[expect(clippy::should_implement_trait, reason = "there is always a next id")]
    pub fn next(&mut self) -> String {
        self.count += 1;
        format!("{}-{}", self.seed, self.count)
    }
}
