//! Files made to do harm: a clear error, little memory, little time, nothing written.
//!
//! The binary runs under limits of the system, so that what is measured is all of it: 256 MB
//! of address space, of which the program itself is a part, and a bound on processor time
//! that leaves room for a build without optimisations. Times are printed, not judged.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Output},
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{
    hostile_files::{Harmful, archive, refused},
    run::{loreloom, refused as refused_by, run},
};

fn save(home: &Path, name: &str, bytes: &[u8]) {
    let mut file = std::fs::File::create(home.join(name)).unwrap();
    file.write_all(bytes).unwrap();
}

/// Runs the binary with 256 MB of memory and ten seconds of processor time.
fn limited(home: &Path, arguments: &[&str]) -> Output {
    let limits = "ulimit -v 262144 && ulimit -t 10 && exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limits, env!("CARGO_BIN_EXE_loreloom")]).args(arguments);
    // The allocator sets address space aside that it never uses, unless it is told not to.
    command.env("MIMALLOC_DISALLOW_ARENA_ALLOC", "1");
    command.current_dir(home).env("HOME", home).env_remove("XDG_DATA_HOME").output().unwrap()
}

#[test]
fn harmful_files_are_refused_within_limits_and_nothing_is_written() {
    for Harmful { name, bytes, message } in refused() {
        let home = TempDir::new().unwrap();
        save(home.path(), name, &bytes);
        let mut longest = Duration::ZERO;
        let mut commands =
            vec![format!("inspect {name}"), format!("import {name} --into vault out")];
        // All read files the same way: the small ones stand for the others.
        if bytes.len() < 1 << 16 {
            commands.extend([
                format!("import {name} --into book out.json"),
                format!("convert {name} out.json --format card-v3"),
                format!("export {name} out.json --format sillytavern"),
                format!("diff {name} {name}"),
                format!("merge {name} {name} {name}"),
                format!("lint {name}"),
            ]);
        }
        for arguments in commands {
            let arguments: Vec<&str> = arguments.split(' ').collect();
            let began = Instant::now();
            let output = limited(home.path(), &arguments);
            longest = longest.max(began.elapsed());
            let told =
                String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            let failure = if arguments[0] == "diff" { 2 } else { 1 };
            assert_eq!(output.status.code(), Some(failure), "{arguments:?}: {told}");
            assert!(told.contains(message), "{arguments:?}: {told}");
            let left = std::fs::read_dir(home.path()).unwrap().count();
            assert_eq!(left, 1, "{arguments:?} wrote something");
        }
        println!("{name}: {} bytes, {longest:?} at the most", bytes.len());
    }
}

#[test]
fn a_folder_of_harmful_files_is_told_file_by_file() {
    let home = TempDir::new().unwrap();
    std::fs::create_dir(home.path().join("lore")).unwrap();
    for (name, bytes) in [
        ("deep.json", "[".repeat(1_000).into_bytes()),
        ("cycle.yaml", b"name: &a [*a]\n".to_vec()),
        ("cut.png", b"\x89PNG\r\n\x1a\n\xff\xff\xff\xfftEXt".to_vec()),
        ("cut.charx", b"PK\x03\x04".to_vec()),
        ("cut.risum", vec![0x6f, 0]),
    ] {
        save(home.path(), &format!("lore/{name}"), &bytes);
    }
    let good =
        b"{\"entries\":{\"0\":{\"uid\":0,\"position\":0,\"key\":[\"a\"],\"content\":\"b\"}}}";
    save(home.path(), "lore/good.json", good);
    let output = limited(home.path(), &["convert", "lore", "out", "--format", "card-v3", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(told, "loreloom: 5 of 6 files were not converted\n");
    let lines: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.iter().filter(|line| line["error"].is_string()).count(), 5);
    let written: Vec<_> = std::fs::read_dir(home.path().join("out"))
        .unwrap()
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(written, ["good.json"]);
}

#[test]
fn names_that_lead_out_of_an_archive_are_never_used() {
    let card = br#"{"spec":"chara_card_v3","spec_version":"3.0","data":{"name":"X",
        "character_book":{"entries":[{"keys":["a"],"content":"b","enabled":true}]}}}"#;
    let files: [(&str, &[u8]); 4] = [
        ("../../evil.txt", b"x"),
        ("/tmp/loreloom-evil.txt", b"x"),
        ("..\\evil.txt", b"x"),
        ("card.json", card),
    ];
    let home = TempDir::new().unwrap();
    let inside = home.path().join("a/b");
    std::fs::create_dir_all(&inside).unwrap();
    save(&inside, "out.charx", &archive(&files));
    for arguments in [
        &["inspect", "out.charx"][..],
        &["convert", "out.charx", "card.json"],
        &["import", "out.charx", "--into", "vault", "Vault"],
        &["import", "out.charx", "--into", "book", "book.json"],
    ] {
        let output = limited(&inside, arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        if arguments[0] == "inspect" {
            let refused = told.matches("leads out of the archive's folder: refused").count();
            assert_eq!(refused, 3, "{told}");
        }
    }
    assert!(!Path::new("/tmp/loreloom-evil.txt").exists());
    let names = |folder: &Path| std::fs::read_dir(folder).unwrap().count();
    assert_eq!((names(home.path()), names(&home.path().join("a"))), (1, 1));
    assert_eq!(names(&inside), 4);
}

#[test]
fn odd_files_are_read_with_a_warning_within_limits() {
    let duplicates = "\"content\":\"x\",".repeat(40_000);
    for (name, text, warning) in [
        (
            "duplicates.json",
            format!("{{\"entries\":{{\"0\":{{{duplicates}\"key\":[]}}}}}}"),
            "the same key stands here twice",
        ),
        (
            "surrogate.json",
            "{\"entries\":{\"0\":{\"content\":\"\\ud800\",\"key\":[]}}}".to_owned(),
            "half of a surrogate pair",
        ),
        (
            "nul.json",
            "{\"entries\":{\"0\":{\"content\":\"a\\u0000b\",\"key\":[]}}}".to_owned(),
            "U+0000",
        ),
    ] {
        let home = TempDir::new().unwrap();
        save(home.path(), name, text.as_bytes());
        let output = limited(home.path(), &["inspect", name]);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{name}: {output:?}");
        assert!(told.contains(warning), "{name}: {told}");
    }
}

#[cfg(unix)]
#[test]
fn a_folder_that_holds_itself_has_an_end() {
    let home = TempDir::new().unwrap();
    std::fs::create_dir(home.path().join("lore")).unwrap();
    std::os::unix::fs::symlink("..", home.path().join("lore/again")).unwrap();
    save(
        home.path(),
        "lore/book.json",
        b"{\"entries\":{\"0\":{\"uid\":0,\"position\":0,\"key\":[\"a\"],\"content\":\"b\"}}}",
    );
    let output = limited(home.path(), &["import", "lore", "--into", "book", "out.json"]);
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(told, "lore/book.json: sillytavern, 1 entry\n");
}

#[test]
fn limits_are_named_in_errors_and_can_be_set() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let three = br#"{"entries":{"0":{"key":["a"]},"1":{"key":["b"]},"2":{"key":["c"]}}}"#;
    save(home, "book.json", three);
    let beyond = "a file may have 2 entries, found 3 (the limit `entries` is 2: `--limit \
                  entries=VALUE` raises it)";
    for arguments in [
        "inspect book.json",
        "import book.json --into book out.json",
        "convert book.json out.json --format agnai",
        "export book.json --format agnai",
        "diff book.json book.json",
        "merge book.json book.json book.json",
    ] {
        let mut all: Vec<&str> = arguments.split(' ').collect();
        all.push("--limit=entries=2");
        let output = run(home, &all);
        let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!output.status.success(), "{arguments}");
        assert!(told.contains(beyond), "{arguments}: {told}");
        assert!(!home.join("out.json").exists());
    }
    let large = refused_by(home, &["--limit", "text=10", "inspect", "book.json"]);
    let found = "a file may have 10 bytes, found 67 (the limit `text` is 10: `--limit text=VALUE`";
    assert!(large.contains(found), "{large}");
    let mut command = loreloom(home, &["inspect", "book.json", "--limit", "entries=3"]);
    assert!(command.env("LORELOOM_LIMITS", "entries=2, keys=5").output().unwrap().status.success());
    let mut command = loreloom(home, &["inspect", "book.json"]);
    assert!(!command.env("LORELOOM_LIMITS", "entries=2").output().unwrap().status.success());
    let mut command = loreloom(home, &["inspect", "book.json"]);
    let output = command.env("LORELOOM_LIMITS", "lines=2").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let unknown = "loreloom: LORELOOM_LIMITS: there is no limit `lines`; the limits are: text, ";
    assert!(told.starts_with(unknown), "{told}");
}
