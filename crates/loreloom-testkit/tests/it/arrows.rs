//! Which crate may depend on which.
//!
//! The arrows keep the engine free of I/O and the server free of databases. Only
//! normal dependencies count: a test may use the testkit, or a neighbour, freely.

use std::collections::BTreeSet;

use crate::workspace::{Failure, Package, packages};

const CORE: &str = "loreloom-core";
const FORMATS: &str = "loreloom-formats";
const RECOGNISE: &str = "loreloom-recognise";
const PORTS: &str = "loreloom-ports";
const MEMORY: &str = "loreloom-memory";
const SETTINGS: &str = "loreloom-settings";
const LLM: &str = "loreloom-llm";
const STORE: &str = "loreloom-store";
const SERVER: &str = "loreloom-server";
const CLI: &str = "loreloom-cli";
const TESTKIT: &str = "loreloom-testkit";
const EXAMPLES: &str = "loreloom-examples";
const OPENAPI: &str = "loreloom-openapi";

/// Each crate with the crates of ours it may depend on.
const ARROWS: [(&str, &[&str]); 13] = [
    (CORE, &[]),
    (FORMATS, &[CORE]),
    (RECOGNISE, &[CORE]),
    (PORTS, &[CORE]),
    (MEMORY, &[CORE, PORTS]),
    (SETTINGS, &[CORE, FORMATS, MEMORY]),
    (LLM, &[CORE, PORTS]),
    (STORE, &[CORE, PORTS]),
    (SERVER, &[CORE, FORMATS, RECOGNISE, PORTS, MEMORY, SETTINGS]),
    (CLI, &[CORE, FORMATS, RECOGNISE, PORTS, MEMORY, SETTINGS, LLM, STORE, SERVER]),
    (TESTKIT, &[CORE, FORMATS, RECOGNISE, PORTS, MEMORY, SETTINGS, LLM, STORE, SERVER]),
    (EXAMPLES, &[CORE, FORMATS, RECOGNISE, PORTS, MEMORY, SETTINGS, LLM, STORE]),
    (OPENAPI, &[SERVER]),
];

/// Outside crates that a crate must not name, and the rule they would break.
const BANNED: [(&str, &[&str], &str); 2] = [
    (CORE, &["tokio", "axum", "reqwest", "rusqlite"], "the engine is sans-I/O"),
    (
        SERVER,
        &["rusqlite", "tokio-postgres", "deadpool-postgres", "reqwest"],
        "the server is handed its store and its upstream",
    ),
];

fn violations(packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages {
        let name = package.name.as_str();
        let Some((_, allowed)) = ARROWS.iter().find(|(crate_name, _)| *crate_name == name) else {
            found.push(format!("`{name}` has no row in the table of arrows"));
            continue;
        };
        for dependency in package.normal_dependencies() {
            if dependency.starts_with("loreloom-") && !allowed.contains(&dependency) {
                found.push(format!("`{name}` must not depend on `{dependency}`"));
            }
            if dependency == "anyhow" && name != CLI {
                found.push(format!("`{name}` must not depend on `anyhow`: only `{CLI}` may"));
            }
            for (banned_from, banned, rule) in BANNED {
                if banned_from == name && banned.contains(&dependency) {
                    found.push(format!("`{name}` must not depend on `{dependency}`: {rule}"));
                }
            }
        }
    }
    found
}

#[test]
fn no_crate_breaks_the_arrows() -> Result<(), Failure> {
    assert_eq!(violations(&packages()?), Vec::<String>::new());
    Ok(())
}

#[test]
fn the_table_of_arrows_names_every_crate_of_the_workspace() -> Result<(), Failure> {
    let packages = packages()?;
    let present: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    assert_eq!(present, ARROWS.iter().map(|(name, _)| *name).collect());
    Ok(())
}

#[test]
fn a_broken_rule_is_named_with_its_crate() -> Result<(), Failure> {
    for (name, dependency, kind, expected) in [
        (CORE, MEMORY, None, Some("`loreloom-core` must not depend on `loreloom-memory`")),
        (CLI, TESTKIT, None, Some("`loreloom-cli` must not depend on `loreloom-testkit`")),
        (TESTKIT, CLI, None, Some("`loreloom-testkit` must not depend on `loreloom-cli`")),
        (SERVER, STORE, None, Some("`loreloom-server` must not depend on `loreloom-store`")),
        (
            CORE,
            "tokio",
            None,
            Some("`loreloom-core` must not depend on `tokio`: the engine is sans-I/O"),
        ),
        (
            LLM,
            "anyhow",
            None,
            Some("`loreloom-llm` must not depend on `anyhow`: only `loreloom-cli` may"),
        ),
        ("loreloom-new", CORE, None, Some("`loreloom-new` has no row in the table of arrows")),
        (CLI, "anyhow", None, None),
        (LLM, "reqwest", None, None),
        (CORE, TESTKIT, Some("dev"), None),
    ] {
        let package: Package = serde_json::from_value(serde_json::json!({
            "name": name,
            "manifest_path": "Cargo.toml",
            "dependencies": [{ "name": dependency, "kind": kind }],
        }))?;
        let found = violations(&[package]);
        assert_eq!(found, Vec::from_iter(expected), "{name} -> {dependency}");
    }
    Ok(())
}
