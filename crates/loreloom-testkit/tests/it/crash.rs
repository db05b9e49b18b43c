//! The short run of the crash test; `crash --cycles 1000` is the long one.

use std::process::Command;

use loreloom_core::ids::ChatId;
use loreloom_testkit::store_suite::crash::{self, SqliteAt};

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("stories.sqlite");
    let command = |chat: &ChatId| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crash"));
        command.args(["--store", "sqlite", "--child"]).arg(&place).arg(chat.as_str());
        command
    };
    let tally = crash::run(&SqliteAt(place.clone()), command, 20, 7, |_| ()).await.unwrap();
    println!("{tally}");
    assert_eq!((tally.cycles, tally.lost), (20, 0));
    assert!(tally.acknowledged > 20, "the child hardly did anything: {tally}");
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_client_of_a_server_is_killed() {
    let Some(cluster) = loreloom_testkit::postgres::Cluster::start().unwrap() else { return };
    let address = cluster.address();
    let command = |chat: &ChatId| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crash"));
        command.args(["--store", "postgres", "--child", &address, chat.as_str()]);
        command
    };
    let opener = crash::PostgresAt(address.clone());
    let tally = crash::run(&opener, command, 10, 7, |_| ()).await.unwrap();
    println!("{tally}");
    assert_eq!((tally.cycles, tally.lost), (10, 0));
    assert!(tally.acknowledged > 10, "the child hardly did anything: {tally}");
}
