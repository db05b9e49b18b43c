//! A store that fails while the real server streams.

use std::path::Path;

use loreloom_testkit::{
    outage::{self, Outage, OutageTally, SmallDisk},
    postgres::Cluster,
};

/// Four outages with five requests each.
fn outages(outage: Outage<'_>) -> OutageTally {
    outage::run(Path::new(env!("CARGO_BIN_EXE_loreloom")), outage, 4).unwrap()
}

/// Nothing is lost, and every answer whose turn was not stored said so.
const KEPT: OutageTally = OutageTally {
    cycles: 4,
    acknowledged: 20,
    lost: 0,
    said: 20,
    given_up: 0,
    silent: 0,
    unnoticed: 0,
    doubled: 0,
};

#[test]
fn what_a_full_disk_does_not_take_is_stored_later_and_survives_a_stop() {
    assert_eq!(outages(Outage::FullDisk(1 << 16)), KEPT);
}

#[test]
fn what_no_file_takes_waits_in_memory() {
    assert_eq!(outages(Outage::FullDisk(1)), KEPT);
}

#[test]
fn what_a_full_file_system_does_not_take_is_stored_later_and_survives_a_stop() {
    let Some(disk) = SmallDisk::mount().unwrap() else { return };
    let tally = outages(Outage::SmallDisk(&disk));
    // The reserve that the server gives back may take a turn before the disk is full again.
    assert!(tally.said > 0, "{tally}");
    assert_eq!(OutageTally { said: KEPT.said, ..tally }, KEPT);
}

#[test]
fn what_a_killed_database_does_not_take_is_stored_later_and_survives_a_stop() {
    let Some(cluster) = Cluster::start().unwrap() else { return };
    // Two requests of each cycle begin when the database is gone: they go on without lore.
    assert_eq!(outages(Outage::Killed(&cluster)), OutageTally { given_up: 8, ..KEPT });
}
