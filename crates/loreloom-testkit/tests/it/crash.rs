//! The short run of the crash test; `crash --cycles 1000` is the long one.

use std::{path::Path, process::Command};

use loreloom_core::ids::ChatId;
use loreloom_testkit::{
    faults::Trouble,
    store_suite::{
        crash::{self, SqliteAt},
        damage, faults,
    },
};

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("stories.sqlite");
    let command = |chat: &ChatId| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crash"));
        command.args(["--store", "sqlite", "--child"]).arg(&place).arg(chat.as_str());
        command
    };
    let tally = crash::run(&SqliteAt(place.clone()), command, None, (50, 7), |_| ()).await.unwrap();
    println!("{tally}");
    assert_eq!((tally.cycles, tally.lost), (50, 0));
    assert!(tally.acknowledged > 300, "the child hardly did anything: {tally}");
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_writing_fails() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("stories.sqlite");
    // With the signal ignored, writing beyond the limit is an error that the store sees:
    // in the log, in the database, in the middle of a page.
    let script = r#"trap "" XFSZ; ulimit -f "$1"; shift; exec "$@""#;
    let command = |chat: &ChatId, bytes: u64| {
        let mut command = Command::new("sh");
        command.args(["-c", script, "limited"]).arg((bytes / 512).to_string());
        command.arg(env!("CARGO_BIN_EXE_crash")).args(["--store", "sqlite", "--child"]);
        command.arg(&place).arg(chat.as_str());
        command
    };
    let opener = SqliteAt(place.clone());
    let tally = crash::run_out_of_space(&opener, command, 12, 150_000).await.unwrap();
    println!("{tally}");
    assert_eq!((tally.cycles, tally.lost), (12, 0));
    assert!(tally.acknowledged > 50, "the child hardly did anything: {tally}");
}

#[tokio::test]
async fn damage_is_named_and_a_repair_saves_each_commit_or_names_its_loss() {
    let command = |file: &Path, chat: &ChatId| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crash"));
        command.args(["--store", "sqlite", "--child"]).arg(file).arg(chat.as_str());
        command
    };
    let tally = damage::run(command, (8, 7)).await.unwrap();
    println!("{tally}");
    assert_eq!((tally.cycles, tally.lost, tally.said, tally.silent), (8, 0, 8, 0));
    assert!(tally.acknowledged > 160, "the child hardly did anything: {tally}");
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_a_server_or_its_client_is_killed() {
    let Some(cluster) = loreloom_testkit::postgres::Cluster::start().unwrap() else { return };
    let address = cluster.address();
    let command = |chat: &ChatId| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crash"));
        command.args(["--store", "postgres", "--child", &address, chat.as_str()]);
        command
    };
    let opener = crash::PostgresAt(address.clone());
    let tally = crash::run(&opener, command, Some(&cluster), (4, 7), |_| ()).await.unwrap();
    println!("{tally}");
    assert_eq!((tally.cycles, tally.lost), (4, 0));
    assert!(tally.acknowledged > 20, "the child hardly did anything: {tally}");
}

#[test]
fn nothing_acknowledged_is_lost_whichever_write_fails() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (trouble, turns) in [(Trouble::Passing, 2), (Trouble::Lasting, 1)] {
        let tally = runtime.block_on(faults::run(trouble, turns)).unwrap();
        println!("{trouble:?}: {tally}");
        assert_eq!((tally.lost, tally.findings), (0, 0));
        assert!(tally.stories > 100 && tally.refused > 50, "hardly anything failed: {tally}");
    }
}
