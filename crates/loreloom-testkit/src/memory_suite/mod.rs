//! Behaviour that every [`MemoryLog`] and [`JobQueue`] must show, as one suite.
//!
//! [`memory_suite!`](macro@crate::memory_suite) makes a test of each case for one store.

pub mod cases;
mod cases_jobs;
pub mod fixture;
pub mod harness;
pub mod truth;

use std::sync::Arc;

use async_trait::async_trait;
use loreloom_ports::{JobQueue, MemoryLog, StoreError, StoryStore};

/// A store of chats, memories and jobs.
pub trait Keeper: StoryStore + MemoryLog + JobQueue {}

impl<S: StoryStore + MemoryLog + JobQueue> Keeper for S {}

/// Opens handles on the same data: one handle reads what another one wrote.
#[async_trait]
pub trait KeeperOpener: Send + Sync {
    /// Another handle, as another process would open it.
    async fn keeper(&self) -> Result<Arc<dyn Keeper>, StoreError>;
}

/// Makes a test of every case. `$opener` is an expression that gives
/// `Result<Option<impl KeeperOpener>, Failure>`; without one the test prints that it is
/// skipped.
#[macro_export]
macro_rules! memory_suite {
    ($opener:expr) => {
        $crate::memory_cases!(@each $opener);
    };
    // One test for all cases, for a store that takes long to start.
    (together $opener:expr) => {
        $crate::memory_cases!(@together $opener);
    };
}

/// The list of cases, behind [`memory_suite!`](crate::memory_suite).
#[doc(hidden)]
#[macro_export]
macro_rules! memory_cases {
    (@$way:ident $opener:expr) => {
        $crate::memory_cases!(@$way $opener;
            a_write_reads_back_in_order_and_after_a_number
            a_write_of_a_known_name_changes_nothing
            a_writer_that_is_behind_is_refused_and_nothing_is_stored
            a_story_that_moved_refuses_what_was_computed_before
            remembered_text_of_every_script_reads_back
            tenants_do_not_remember_for_each_other
            vectors_of_two_models_never_meet
            a_reopened_store_remembers
            news_are_what_anybody_remembered_since
            writers_of_one_owner_lose_nothing
            a_lane_runs_one_job_at_a_time
            priority_goes_before_age_and_time_before_both
            a_connection_is_not_asked_more_than_it_can_take
            a_silent_workers_job_is_taken_over_and_it_can_write_no_more
            a_cancelled_job_is_stopped_and_does_not_come_back
            a_job_that_is_tried_again_keeps_its_answers
            a_job_that_is_over_tells_what_it_asked
            a_write_and_its_job_move_together
            many_workers_never_share_a_lane_or_a_job
            old_jobs_that_are_over_are_forgotten
        );
    };
    (@each $opener:expr; $($case:ident)+) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $case() {
            match $opener.unwrap() {
                Some(opener) => $crate::memory_suite::cases::$case(&opener).await.unwrap(),
                None => println!("skipped: this store is not available here"),
            }
        }
    )+};
    (@together $opener:expr; $($case:ident)+) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn every_case_of_the_memory_suite() {
            match $opener.unwrap() {
                Some(opener) => {$(
                    println!("{}", stringify!($case));
                    $crate::memory_suite::cases::$case(&opener).await.unwrap();
                )+}
                None => println!("skipped: this store is not available here"),
            }
        }
    };
}
