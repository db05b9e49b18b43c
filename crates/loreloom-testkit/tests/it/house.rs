//! House rules that neither the compiler nor clippy can see.

use crate::workspace::{Failure, bytes, files, packages, root, text};

/// A folder of the machine the project was first written on. Spelled in two
/// parts, so that this file obeys its own rule.
const WORKPLACE: &str = concat!("/wo", "rk/");

/// Whether `line` names the workplace as an absolute path, not as part of a longer one.
fn names_the_workplace(line: &str) -> bool {
    line.match_indices(WORKPLACE).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|previous| previous.is_alphanumeric() || "_-.}".contains(previous))
    })
}

#[test]
fn no_file_names_a_path_of_the_workplace() -> Result<(), Failure> {
    let root = root()?;
    let mut found = Vec::new();
    for path in files()? {
        let bytes = bytes(&path)?;
        // Pictures and tables of numbers hold any bytes by chance.
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        for (index, line) in text.lines().enumerate() {
            if names_the_workplace(line) {
                found.push(format!("{}:{}", path.strip_prefix(&root)?.display(), index + 1));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    Ok(())
}

#[test]
fn only_an_absolute_path_counts_as_a_name_of_the_workplace() {
    for (prefix, expected) in [
        ("", true),
        ("see ", true),
        ("(", true),
        ("file://", true),
        ("example.org", false),
        ("..", false),
        ("${HOME}", false),
    ] {
        let line = format!("{prefix}{WORKPLACE}main");
        assert_eq!(names_the_workplace(&line), expected, "{line}");
    }
}

#[test]
fn every_crate_inherits_the_lints_of_the_workspace() -> Result<(), Failure> {
    for package in packages()? {
        let manifest = text(&package.manifest_path)?;
        let mut lines = manifest.lines().map(str::trim).filter(|line| !line.is_empty());
        let inherited = lines.any(|line| line == "[lints]")
            && lines.next().is_some_and(|line| line == "workspace = true");
        assert!(inherited, "`{}` must say `workspace = true` under `[lints]`", package.name);
    }
    Ok(())
}

#[test]
fn every_outside_crate_comes_from_the_public_index() -> Result<(), Failure> {
    let lock = text(&root()?.join("Cargo.lock"))?;
    let elsewhere: Vec<&str> = lock
        .lines()
        .filter(|line| line.starts_with("source = "))
        .filter(|line| {
            *line != r#"source = "registry+https://github.com/rust-lang/crates.io-index""#
        })
        .collect();
    assert_eq!(elsewhere, Vec::<&str>::new());
    Ok(())
}

#[test]
fn unsafe_code_is_in_one_module_only() -> Result<(), Failure> {
    let root = root()?;
    let expects = ["expect(", "unsafe_code"].concat();
    let mut found = Vec::new();
    for path in files()?.into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs"))
    {
        if text(&path)?.contains(&expects) {
            found.push(path.strip_prefix(&root)?.display().to_string());
        }
    }
    // The disks that fail are C structures of functions.
    assert_eq!(found, ["crates/loreloom-testkit/src/faults/vfs.rs"]);
    Ok(())
}
