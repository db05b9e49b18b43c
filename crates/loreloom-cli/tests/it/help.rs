//! What `--help` says, and where.

use std::path::Path;

use tempfile::TempDir;

use crate::run::{printed, refused, run, write};

/// The heading under which each option of a command stands.
fn headings(home: &Path, command: &str) -> Vec<(String, String)> {
    let (mut heading, mut found) = (String::new(), Vec::new());
    for line in printed(home, &[command, "--help"]).lines() {
        if !line.starts_with(' ') && line.ends_with(':') {
            line.trim_end_matches(':').clone_into(&mut heading);
        }
        let is_option = line.starts_with(' ') && line.trim_start().starts_with('-');
        let mut words = line.split(' ').filter(|word| is_option && word.starts_with("--"));
        if let Some(option) = words.next() {
            found.push((option.to_owned(), heading.clone()));
        }
    }
    found
}

#[test]
fn every_option_stands_under_its_own_heading() {
    let home = TempDir::new().unwrap();
    for (command, heading, options) in [
        ("weave", "Options", &["--profile", "--set", "--chat", "--why", "--json"][..]),
        ("weave", "Lore", &["--book", "--depth", "--budget", "--wrap", "--dialect"]),
        ("serve", "Options", &["--port", "--listen", "--store", "--data", "--set"]),
        ("serve", "Lore", &["--book", "--dialect"]),
        ("serve", "Story", &["--user", "--char", "--context"]),
        ("serve", "Models", &["--memory-model", "--selector-model", "--no-memory"]),
        ("import", "Options", &["--chat", "--add", "--json", "--store", "--data"]),
        ("scene", "Options", &["--without", "--clear", "--data"]),
        ("lint", "Options", &["--json", "--fix", "--strict"]),
    ] {
        let found = headings(home.path(), command);
        for option in options {
            let (_, under) = found.iter().find(|(name, _)| name == option).unwrap();
            assert_eq!(under, heading, "{command} {option}");
        }
        for (name, heading) in &found {
            let of_vaults = name.starts_with("--vault-") && name != "--vault-name";
            assert!(!of_vaults || heading == "Vaults", "{command} {name}: {heading}");
        }
    }
}

#[test]
fn the_help_of_serve_fits_on_two_screens() {
    let home = TempDir::new().unwrap();
    let options = headings(home.path(), "serve");
    assert!(options.len() <= 32, "{} options with `--help`", options.len());
}

#[test]
fn a_folder_without_notes_is_told() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    std::fs::create_dir(home.join("empty")).unwrap();
    for arguments in [
        &["import", "empty", "--data", "data"][..],
        &["import", "empty", "--into", "book", "all.json"],
        &["import", "empty", "--into", "vault", "notes"],
    ] {
        let error = refused(home, arguments);
        let expected = "loreloom: no lorebooks, notes or chats were found in `empty`\n";
        assert_eq!(error, expected, "{arguments:?}");
    }
    assert!(!home.join("all.json").exists() && !home.join("notes").exists());
    let lint = printed(home, &["lint", "empty"]);
    assert!(lint.contains("empty: warning: no notes were found in it [no_notes]\n"), "{lint}");
    assert!(lint.ends_with("0 errors, 1 warnings, 0 hints\n"), "{lint}");
    let chat = r#"{"messages":[{"role":"user","content":"Hello."}]}"#;
    write(home, "chat.json", chat);
    let woven = run(home, &["weave", "--vault", "empty", "--chat", "chat.json"]);
    let told = String::from_utf8_lossy(&woven.stderr).into_owned();
    assert!(woven.status.success(), "{told}");
    assert!(told.starts_with("loreloom: no notes were found in `") && told.contains("empty`\n"));
}
