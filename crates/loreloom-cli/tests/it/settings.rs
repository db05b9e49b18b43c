//! Settings on the command line and in the configuration file.

use std::{fmt::Write as _, path::Path};

use loreloom_settings::{SETTINGS, toml_value};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::{printed, refused, run, write};

/// The rows that `config show --all --json` prints.
fn rows(home: &Path, arguments: &[&str]) -> Vec<Value> {
    let all = [&["config", "show", "--all", "--json", "--data", "data"], arguments].concat();
    serde_json::from_str(&printed(home, &all)).unwrap()
}

fn row<'a>(rows: &'a [Value], name: &str) -> &'a Value {
    rows.iter().find(|row| row["name"] == name).unwrap()
}

#[test]
fn every_setting_is_reached_by_the_file_a_flag_and_the_docs() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    // The store is named by this test itself.
    let settings = || SETTINGS.iter().filter(|setting| setting.section() != "store");
    let mut file = String::new();
    let mut flags = Vec::new();
    for setting in settings() {
        let value = setting.default_value();
        let _written = writeln!(file, "{} = {}", setting.name, toml_value(&value));
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        flags.push(format!("--set={}={text}", setting.name));
    }
    write(home, "config.toml", &file);
    let told = printed(home, &["config", "check", "config.toml", "--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["settings"], &told["changed"]), (&json!(settings().count()), &json!(0)));
    let by_file = rows(home, &["--config", "config.toml"]);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let by_flag = rows(home, &flags);
    #[expect(clippy::disallowed_methods, reason = "the chapter is a file of the repository")]
    let docs = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md"),
    );
    let docs = docs.unwrap();
    for setting in settings() {
        let name = setting.name;
        assert_eq!(row(&by_file, name)["source"], "file", "{name}");
        assert_eq!(row(&by_flag, name)["source"], "flag", "{name}");
        assert_eq!(row(&by_flag, name)["changed"], false, "{name}");
        assert!(docs.contains(&format!("| `{name}` |")), "{name}");
    }
}

#[test]
fn what_show_prints_is_a_configuration_of_the_same_meaning() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let config = "[world_info]\nscan_depth = 7\n[vault]\nprofile = \"deeplore-2.x\"\n\
                  [memory.places]\narcs = { position = \"BEFORE\" }\n\
                  [connections.here]\nkind = \"ollama\"\nurl = \"http://127.0.0.1:1\"\n\
                  [[books]]\nfile = \"a.json\"\nworld_info.case_sensitive = true\n";
    write(home, "config.toml", config);
    let before = rows(home, &["--config", "config.toml", "--set", "story.user=Mira"]);
    for all in [&[][..], &["--all"]] {
        let show = ["config", "show", "--config", "config.toml", "--set", "story.user=Mira"];
        let shown = printed(home, &[&show[..], all, &["--data", "data"]].concat());
        assert!(shown.contains("scan_depth = 7 # changed (file); default 2\n"), "{shown}");
        assert!(shown.contains("user = \"Mira\" # changed (flag); default \"User\"\n"), "{shown}");
        assert!(shown.contains("[connections.here]\n"), "{shown}");
        write(home, "again.toml", &shown);
        let told = printed(home, &["config", "check", "again.toml"]);
        assert!(told.contains("1 connections, 1 books, 0 vaults"), "{told}");
        for (was, is) in before.iter().zip(rows(home, &["--config", "again.toml"])) {
            assert_eq!(was["value"], is["value"], "{}", was["name"]);
        }
    }
}

#[test]
fn a_setting_is_explained_by_our_name_or_another_programs() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let expected = "vault.strip_duplicates\n  Notes that were in not long ago are left out. On in `deeplore-2.x`; off here, because what was sent before is not in the next prompt.\n\n  \
        value    false (default)\n  default  false\n  profile  deeplore-2.x: true\n  profile  \
        deeplore-2.0: true\n  must be  `true` or `false`\n  called   stripDuplicateInjections in \
        DeepLore\n  file     strip_duplicates = false under [vault]\n  flag     --set \
        vault.strip_duplicates=VALUE\n  for      server\n  changes  with the next turn\n";
    for name in ["vault.strip_duplicates", "stripDuplicateInjections"] {
        assert_eq!(printed(home, &["config", "explain", name]), expected);
    }
    let json = printed(home, &["config", "explain", "world_info_depth", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["name"], &json["flag"]), (&json!("world_info.scan_depth"), &json!("depth")));
    let error = refused(home, &["config", "explain", "vault.scandepth"]);
    let expected = "loreloom: there is no setting `vault.scandepth`; did you mean \
                    `vault.scan_depth`?\n";
    assert_eq!(error, expected);
}

#[test]
fn a_misspelt_flag_names_the_nearest_setting() {
    let home = TempDir::new().unwrap();
    for (pair, part) in [
        ("vault.scan_dept=3", "did you mean `vault.scan_depth`?"),
        ("scanDepth=3", "`scanDepth` of DeepLore is `vault.scan_depth` here"),
        ("vault.scan_depth=x", "`vault.scan_depth` must be a whole number from 0 to 1000"),
        ("vault.scan_depth", "must be NAME=VALUE, found `vault.scan_depth`"),
    ] {
        let error = refused(home.path(), &["config", "show", "--data", "data", "--set", pair]);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn settings_of_others_are_imported_printed_and_written() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let theirs = json!({
        "world_info_settings": {"world_info_depth": 9, "world_info_overflow_alert": true},
        "extension_settings": {
            "deeplore": {"scanDepth": 6, "scribeEnabled": true, "unlimitedBudget": true},
            "smart_memory": {"longterm_enabled": true, "arcs_max": 4},
        },
    });
    write(home, "settings.json", &theirs.to_string());
    write(home, "config.toml", "# Mine\n[vault] # notes\nscan_depth = 2\n");
    let shown = run(home, &["config", "import", "settings.json"]);
    let (out, told) =
        (String::from_utf8(shown.stdout).unwrap(), String::from_utf8(shown.stderr).unwrap());
    assert!(out.contains("scan_depth = 9 # changed (file); default 2"), "{out}");
    assert!(told.contains("`scribeEnabled` of DeepLore means nothing here"), "{told}");
    let write_it = ["config", "import", "settings.json", "--write", "--config", "config.toml"];
    let told = printed(home, &write_it);
    assert_eq!(told, "8 settings were written to `config.toml`\n");
    let rows = rows(home, &["--config", "config.toml"]);
    for (name, value) in [
        ("world_info.scan_depth", json!(9)),
        ("world_info.profile", json!("sillytavern-1.19")),
        ("vault.scan_depth", json!(6)),
        ("vault.max_tokens", json!("none")),
        ("vault.profile", json!("deeplore-2.x")),
        ("memory.arcs_max", json!(4)),
        ("memory.profile", json!("smart-memory-1.8")),
    ] {
        assert_eq!(
            (&row(&rows, name)["value"], &row(&rows, name)["source"]),
            (&value, &json!("file"))
        );
    }
    #[expect(clippy::disallowed_methods, reason = "the test reads its own file")]
    let text = std::fs::read_to_string(home.join("config.toml")).unwrap();
    assert!(text.starts_with("# Mine\n[vault] # notes\n"), "{text}");
    write(home, "other.json", "{\"colour\": 1}");
    let error = refused(home, &["config", "import", "other.json"]);
    assert!(
        error.contains("must be a settings file of SillyTavern, DeepLore or Smart Memory"),
        "{error}"
    );
}
