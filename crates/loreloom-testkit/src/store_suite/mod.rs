//! Behaviour that every [`Store`] must show, as one suite.
//!
//! [`cases`] has one function for each behaviour; [`store_suite!`](macro@crate::store_suite)
//! makes a test of each for one store. [`machine`] runs random stories on stores and compares
//! them with the naive [`model`]; [`engine_story`] decides the turns of
//! such stories with the engine. [`crash`] kills
//! a process that commits, and looks for what it acknowledged; [`faults`] lets the disk fail;
//! [`damage`] damages what a killed process left.

pub mod cases;
mod cases_documents;
mod cases_replay;
mod cases_tree;
mod cases_undo;
mod cases_write;
pub mod crash;
pub mod damage;
pub mod engine_story;
pub mod faults;
pub mod fixture;
pub mod machine;
pub mod model;

use std::sync::Arc;

use async_trait::async_trait;
use loreloom_ports::{Store, StoreError};

/// Opens handles on the same data: one handle reads what another one wrote.
#[async_trait]
pub trait Opener: Send + Sync {
    /// Another handle, as another process would open it.
    async fn open(&self) -> Result<Arc<dyn Store>, StoreError>;
}

/// Why a case could not run. What it checks is asserted.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The outcome of a case.
pub type Checked = Result<(), Failure>;

/// Makes a test of every case. `$opener` is an expression that gives
/// `Result<Option<impl Opener>, Failure>`; without one the test prints that it is skipped.
#[macro_export]
macro_rules! store_suite {
    ($opener:expr) => {
        $crate::store_cases!(@each $opener);
    };
    // One test for all cases, for a store that takes long to start: test runners start
    // each test in a process of its own.
    (together $opener:expr) => {
        $crate::store_cases!(@together $opener);
    };
}

/// The list of cases, behind [`store_suite!`](crate::store_suite).
#[doc(hidden)]
#[macro_export]
macro_rules! store_cases {
    (@$way:ident $opener:expr) => {
        $crate::store_cases!(@$way $opener;
            a_chat_is_made_once
            an_empty_chat_has_no_path_and_no_state
            an_unknown_chat_is_an_error
            unknown_nodes_and_turns_are_errors
            chats_are_listed_last_changed_first
            a_turn_reads_back_to_the_byte
            prompts_of_every_shape_read_back_to_the_byte
            text_of_every_script_reads_back_to_the_byte
            messages_keep_name_hidden_and_extensions
            a_renamed_persona_keeps_the_stored_nodes
            a_reply_extends_the_story
            a_turn_with_its_reply_is_both_of_them
            a_late_reply_leaves_the_tip_alone
            the_tip_moves_to_any_stored_node
            a_contradiction_is_refused_and_nothing_stored
            a_stale_version_is_refused_and_nothing_stored
            swipes_are_siblings
            an_edit_far_back_keeps_the_state_of_what_follows
            the_exact_prefix_counts_before_the_message
            the_turns_of_a_round_each_keep_their_own
            a_quiet_turn_leaves_no_state
            a_state_follows_what_others_write
            writes_of_others_are_seen_at_the_next_look
            responses_are_found_by_their_ids
            a_change_by_hand_leaves_the_tip_alone
            a_branch_does_not_touch_the_story_it_left
            two_greetings_are_two_roots
            the_tree_lists_parents_before_children
            a_reopened_store_has_everything
            tenants_do_not_see_each_other
            concurrent_writers_lose_nothing
            one_of_two_writers_of_a_version_wins
            a_path_without_turns_is_stored_and_becomes_the_tip
            a_turn_keeps_its_input
            libraries_are_kept_once_and_read_back_to_the_byte
            documents_keep_values_and_every_change_of_them
            a_change_is_undone_and_the_undoing_too
            what_was_changed_again_is_not_undone
            one_of_two_who_saw_a_revision_wins
            books_are_kept_by_what_they_say
            files_are_kept_by_their_bytes
            documents_of_tenants_are_apart
            every_kind_of_write_is_taken_back_and_done_again
            a_write_that_others_build_on_is_not_taken_back
            a_trimmed_turn_keeps_what_it_needs
            unused_books_go_only_when_asked_for
        );
    };
    (@each $opener:expr; $($case:ident)+) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $case() {
            match $opener.unwrap() {
                Some(opener) => $crate::store_suite::cases::$case(&opener).await.unwrap(),
                None => println!("skipped: this store is not available here"),
            }
        }
    )+};
    (@together $opener:expr; $($case:ident)+) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn every_case_of_the_suite() {
            match $opener.unwrap() {
                Some(opener) => {$(
                    println!("{}", stringify!($case));
                    $crate::store_suite::cases::$case(&opener).await.unwrap();
                )+}
                None => println!("skipped: this store is not available here"),
            }
        }
    };
}
