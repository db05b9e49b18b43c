//! Files made to do harm: a clear error, little memory, little time, nothing written.
//!
//! The binary runs under limits of the system, so that what is measured is all of it: 256 MB
//! of address space, of which the program itself is a part, and a bound on processor time
//! that leaves room for a build without optimisations.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Output},
};

use tempfile::TempDir;

fn save(home: &Path, name: &str, bytes: &[u8]) {
    let mut file = std::fs::File::create(home.join(name)).unwrap();
    file.write_all(bytes).unwrap();
}

/// Runs the binary with 256 MB of memory and ten seconds of processor time.
fn limited(home: &Path, arguments: &[&str]) -> Output {
    let limits = "ulimit -v 262144 && ulimit -t 10 && exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limits, env!("CARGO_BIN_EXE_loreloom")]).args(arguments);
    command.current_dir(home).env("HOME", home).env_remove("XDG_DATA_HOME").output().unwrap()
}

/// A bomb of YAML: each line holds the one before ten times.
fn aliases() -> String {
    let mut text = String::from("name: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        text.extend([format!("a{level}: &a{level} [{items}]\n")]);
    }
    text
}

/// Files that must be refused, each with a part of the message.
fn refused() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let text = |text: String| text.into_bytes();
    vec![
        ("deep.json", text("[".repeat(1_000_000)), "JSON may nest 128 levels deep"),
        ("deep-object.json", text("{\"a\":".repeat(300_000)), "JSON may nest 128 levels deep"),
        (
            "wide.json",
            text(format!("{{\"entries\":[{}0]}}", "0,".repeat(1_500_000))),
            "a file may have 1000000 JSON values",
        ),
        (
            "many-keys.json",
            text(format!(
                "{{\"entries\":{{\"0\":{{\"key\":[{}\"b\"]}}}}}}",
                "\"a\",".repeat(20_000)
            )),
            "a file may have 10000 keys",
        ),
        (
            "huge-string.json",
            text(format!(
                "{{\"entries\":{{\"0\":{{\"content\":\"{}\"}}}}}}",
                "a".repeat(9_000_000)
            )),
            "a file may have 4194304 bytes in one entry",
        ),
        ("paragraphs.txt", text("a b\n\n".repeat(200_000)), "a file may have 50000 entries"),
        ("aliases.yaml", text(aliases()), "not valid YAML"),
        ("cycle.yaml", b"name: &a [*a]\n".to_vec(), "not valid YAML"),
        ("deep.yaml", text(format!("a: {}", "[".repeat(100_000))), "not valid YAML"),
        ("cut.png", b"\x89PNG\r\n\x1a\n\xff\xff\xff\xfftEXt".to_vec(), "not a usable PNG"),
        ("cut.charx", b"PK\x03\x04".to_vec(), "not a usable"),
        ("empty.json", Vec::new(), "the file is empty"),
        ("control.json", b"{\"entries\": \0}".to_vec(), "not valid JSON"),
    ]
}

#[test]
fn harmful_files_are_refused_within_limits_and_nothing_is_written() {
    for (name, bytes, message) in refused() {
        let home = TempDir::new().unwrap();
        save(home.path(), name, &bytes);
        for arguments in [
            &["inspect", name][..],
            &["convert", name, "out.json", "--format", "card-v3"],
            &["import", name, "--into", "book", "out.json"],
            &["import", name, "--into", "vault", "out"],
        ] {
            let output = limited(home.path(), arguments);
            let told =
                String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
            assert!(told.contains(message), "{arguments:?}: {told}");
            let left = std::fs::read_dir(home.path()).unwrap().count();
            assert_eq!(left, 1, "{arguments:?} wrote something");
        }
    }
}

#[test]
fn odd_files_are_read_with_a_warning_within_limits() {
    let duplicates = "\"content\":\"x\",".repeat(50_000);
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
    assert_eq!(told, "lore/book.json: sillytavern, 1 entries\n");
}
