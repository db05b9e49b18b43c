//! The short run of the crash test; `crash --cycles 1000` is the long one.

use std::process::Command;

use loreloom_core::ids::ChatId;
use loreloom_testkit::store_suite::crash;

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("stories.sqlite");
    let command = |chat: &ChatId| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crash"));
        command.args(["--store", "sqlite", "--child"]).arg(&place).arg(chat.as_str());
        command
    };
    let tally = crash::run(&crash::sqlite_at(&place), command, 20, 7, |_| ()).await.unwrap();
    println!("{tally}");
    assert_eq!((tally.cycles, tally.lost), (20, 0));
    assert!(tally.acknowledged > 20, "the child hardly did anything: {tally}");
}
