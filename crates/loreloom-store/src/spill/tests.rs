use super::*;

fn spill(folders: &[&Path]) -> SpillFile {
    let store = StoreAddress::Server("postgres://db/tales".to_owned());
    SpillFile::new(folders.iter().map(|folder| folder.to_path_buf()).collect(), &store)
}

fn files(folder: &Path) -> usize {
    folder.read_dir().unwrap().count()
}

#[test]
fn records_survive_the_process_and_are_taken_over_once() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("data");
    let first = spill(&[&folder]);
    first.append(b"one").unwrap();
    first.append(b"two").unwrap();
    let other = spill(&[&folder]);
    assert_eq!(other.records().unwrap(), Vec::<Vec<u8>>::new(), "its process runs");
    drop(first);
    let next = spill(&[&folder]);
    assert_eq!(next.records().unwrap(), [b"one", b"two"]);
    assert_eq!(other.records().unwrap(), Vec::<Vec<u8>>::new(), "another has taken them over");
    next.clear().unwrap();
    assert_eq!(files(&folder), 0);
}

#[test]
fn another_store_has_other_files() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("data");
    spill(&[&folder]).append(b"one").unwrap();
    let store = StoreAddress::Server("postgres://db/others".to_owned());
    let other = SpillFile::new(vec![folder], &store);
    assert_eq!(other.records().unwrap(), Vec::<Vec<u8>>::new());
}

#[test]
fn a_folder_that_was_moved_keeps_its_waiting_turns() {
    let directory = tempfile::tempdir().unwrap();
    let (full, roomy) = (directory.path().join("full"), directory.path().join("roomy"));
    let at = |folder: &Path, name: &str| {
        SpillFile::new(vec![folder.to_path_buf()], &StoreAddress::File(folder.join(name)))
    };
    at(&full, "stories.sqlite").append(b"one").unwrap();
    std::fs::rename(&full, &roomy).unwrap();
    let other = at(&roomy, "others.sqlite");
    assert_eq!(other.records().unwrap(), Vec::<Vec<u8>>::new(), "it is another store's");
    assert_eq!(at(&roomy, "stories.sqlite").records().unwrap(), [b"one"]);
}

#[test]
fn a_server_that_was_killed_leaves_no_second_reserve() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let store = StoreAddress::File(folder.join("stories.sqlite"));
    let killed = SpillFile::new(vec![folder.to_path_buf()], &store);
    std::mem::forget(killed);
    let next = SpillFile::new(vec![folder.to_path_buf()], &store);
    assert_eq!(files(folder), 1);
    drop(next);
    assert_eq!(files(folder), 0);
}

#[cfg(unix)]
#[test]
fn files_are_private_and_a_folder_that_cannot_be_used_is_passed_over_in_order() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (directory.path().join("first"), directory.path().join("second"));
    let writes = spill(&[&first, &second]);
    writes.append(b"one").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&first), 0o700);
    for entry in first.read_dir().unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    drop(writes);
    // Others may write to the first folder now, so it is not used and not trusted.
    std::fs::set_permissions(&first, std::fs::Permissions::from_mode(0o777)).unwrap();
    let writes = spill(&[&first, &second]);
    assert_eq!(writes.records().unwrap(), Vec::<Vec<u8>>::new());
    writes.append(b"two").unwrap();
    assert_eq!((files(&first), files(&second)), (1, 1));
    drop(writes);
    std::fs::set_permissions(&first, std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(spill(&[&first, &second]).records().unwrap().len(), 2);
}

#[test]
fn a_store_that_is_a_file_has_a_reserve_until_room_is_needed() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().to_path_buf();
    let store = StoreAddress::File(folder.join("stories.sqlite"));
    let spill = SpillFile::new(vec![folder.clone()], &store);
    let taken = |folder: &Path| {
        folder.read_dir().unwrap().map(|one| one.unwrap().metadata().unwrap().len()).sum::<u64>()
    };
    assert_eq!(taken(&folder), 8 << 20);
    assert!(spill.make_room());
    assert_eq!(taken(&folder), 0);
    assert!(!spill.make_room(), "there is no more");
    spill.keep_room();
    assert_eq!(taken(&folder), 8 << 20);
    drop(spill);
    assert_eq!(taken(&folder), 0);
}
