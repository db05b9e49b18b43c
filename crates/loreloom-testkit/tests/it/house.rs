//! House rules that neither the compiler nor clippy can see.

use std::collections::{BTreeMap, BTreeSet};

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
fn unsafe_code_is_in_two_modules_only() -> Result<(), Failure> {
    let root = root()?;
    let expects = ["expect(", "unsafe_code"].concat();
    let mut found = Vec::new();
    for path in files()?.into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs"))
    {
        if text(&path)?.contains(&expects) {
            found.push(path.strip_prefix(&root)?.display().to_string());
        }
    }
    // The allocator is a C library, and the disks that fail are C structures of functions.
    found.sort();
    let allowed =
        ["crates/loreloom-cli/src/allocator.rs", "crates/loreloom-testkit/src/faults/vfs.rs"];
    assert_eq!(found, allowed);
    Ok(())
}

/// A package that `release` names keeps its `strip` in `dist`, which inherits from it.
#[test]
fn no_profile_names_the_package_that_is_stripped() -> Result<(), Failure> {
    let manifest = text(&root()?.join("Cargo.toml"))?;
    let profiles = manifest.split_once("[profile.").ok_or("no profile")?.1;
    let named: Vec<&str> =
        profiles.lines().filter(|line| line.starts_with("loreloom-cli.")).collect();
    assert_eq!(named, Vec::<&str>::new());
    assert!(profiles.contains("strip = \"symbols\""));
    Ok(())
}

/// The most type names that three or more files may define. A reader who meets the same name
/// for the third time must look up which one is meant.
const MOST_REPEATED_NAMES: usize = 10;

/// The name that a line defines as a type, if it does.
fn type_defined_by(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => line,
    };
    let kinds = ["struct ", "enum ", "trait ", "union "];
    let name = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    (end > 0).then_some(&name[..end])
}

/// The part of a source file that ships.
fn without_tests(source: &str) -> &str {
    source.split_once("\n#[cfg(test)]\nmod tests {").map_or(source, |(shipped, _)| shipped)
}

#[test]
fn a_type_name_means_one_thing() -> Result<(), Failure> {
    let root = root()?;
    let mut defined: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in files()? {
        let name = path.strip_prefix(&root)?.display().to_string();
        let is_source = name.starts_with("crates/") && name.contains("/src/");
        let is_for_tests =
            name.starts_with("crates/loreloom-testkit/") || name.ends_with("tests.rs");
        if !is_source || is_for_tests || path.extension().is_none_or(|end| end != "rs") {
            continue;
        }
        for found in without_tests(&text(&path)?).lines().filter_map(type_defined_by) {
            defined.entry(found.to_owned()).or_default().insert(name.clone());
        }
    }
    let repeated: Vec<_> = defined.iter().filter(|(_, files)| files.len() >= 3).collect();
    assert!(repeated.len() <= MOST_REPEATED_NAMES, "{} names: {repeated:#?}", repeated.len());
    Ok(())
}

#[test]
fn only_a_definition_counts_as_a_type_name() {
    for (line, expected) in [
        ("pub struct Entry {", Some("Entry")),
        ("    pub(crate) enum Kind<T> {", Some("Kind")),
        ("trait Reads: Send {", Some("Reads")),
        ("pub struct Tokens(pub u32);", Some("Tokens")),
        ("let structure = 1;", None),
        ("// struct Told", None),
        ("impl Entry {", None),
        ("pub use self::enum_like;", None),
    ] {
        assert_eq!(type_defined_by(line), expected, "{line}");
    }
}

/// Rows of the table "Where is …": what, file, what the file defines.
fn where_is(architecture: &str) -> Vec<[String; 3]> {
    let table = architecture.split_once("## Where is").map_or("", |(_, table)| table);
    let cells = |line: &str| -> Option<[String; 3]> {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ");
        let mut next = || cells.next().map(|cell| cell.trim_matches('`').to_owned());
        Some([next()?, next()?, next()?])
    };
    table.lines().filter_map(cells).filter(|[_, file, _]| file.starts_with("crates/")).collect()
}

/// Whether a source file defines this name.
fn defines(source: &str, name: &str) -> bool {
    let kinds = ["fn", "struct", "enum", "trait", "const", "type", "mod"];
    kinds.iter().any(|kind| {
        let definition = format!("{kind} {name}");
        source.match_indices(&definition).any(|(at, _)| {
            let after = source[at + definition.len()..].chars().next();
            !after.is_some_and(|next| next.is_alphanumeric() || next == '_')
        })
    })
}

#[test]
fn the_map_leads_where_it_says() -> Result<(), Failure> {
    let root = root()?;
    let rows = where_is(&text(&root.join("ARCHITECTURE.md"))?);
    assert!(rows.len() >= 20, "the table has {} rows", rows.len());
    for [what, file, name] in rows {
        let path = root.join(&file);
        assert!(path.exists(), "{what}: `{file}` does not exist");
        assert!(defines(&text(&path)?, &name), "{what}: `{file}` does not define `{name}`");
    }
    Ok(())
}

#[test]
fn only_a_whole_name_counts_as_defined() {
    for (source, expected) in [
        ("pub(crate) fn settle(", true),
        ("fn settled(", false),
        ("pub struct settle;", true),
        ("settle()", false),
    ] {
        assert_eq!(defines(source, "settle"), expected, "{source}");
    }
}

/// The most arguments of a function, besides `self`. More belong into a struct.
const MOST_ARGUMENTS: usize = 5;

/// The names of the functions of a source file, with how many arguments each has besides `self`.
fn arguments(source: &str) -> Vec<(&str, usize)> {
    let starts = source.match_indices("fn ").map(|(at, _)| &source[at + 3..]);
    let named = starts.filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').filter(|end| *end > 0)?;
        let (name, rest) = rest.split_at(end);
        let open = if rest.starts_with('<') { rest.find(">(")? + 1 } else { 0 };
        Some((name, rest[open..].strip_prefix('(')?))
    });
    let counted = named.map(|(name, rest)| {
        let (mut depth, mut before) = (0, ' ');
        let mut given = vec![String::new()];
        for c in rest.chars() {
            match c {
                ')' if depth == 0 => break,
                '(' | '[' | '{' | '<' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                '>' if before != '-' && before != '=' => depth -= 1,
                ',' if depth == 0 => given.push(String::new()),
                _ => (),
            }
            if let Some(last) = given.last_mut().filter(|_| c != ',' || depth > 0) {
                last.push(c);
            }
            before = c;
        }
        let is_counted =
            |one: &&String| !matches!(one.trim(), "" | "self" | "mut self" | "&self" | "&mut self");
        (name, given.iter().filter(is_counted).count())
    });
    counted.collect()
}

#[test]
fn no_function_has_more_than_five_arguments() -> Result<(), Failure> {
    let root = root()?;
    let mut found = Vec::new();
    for path in files()?.into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs"))
    {
        let file = path.strip_prefix(&root)?.display().to_string();
        for (name, count) in arguments(&text(&path)?) {
            if count > MOST_ARGUMENTS {
                found.push(format!("{file}: `{name}` has {count}"));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    Ok(())
}

#[test]
fn arguments_are_counted_without_self() {
    for (source, expected) in [
        ("fn none() {}", vec![("none", 0)]),
        ("fn of<T: Fn(u8) -> u8>(self, a: T, (b, c): (u8, u8),) {}", vec![("of", 2)]),
        ("pub async fn map(&mut self, a: BTreeMap<u8, u8>) -> u8", vec![("map", 1)]),
        ("fn call(f: impl Fn(u8, u8) -> [u8; 2], b: &str)", vec![("call", 2)]),
    ] {
        assert_eq!(arguments(source), expected, "{source}");
    }
}

/// The notes whose tables name what proves each of their rules, and how many proofs they have at
/// least.
const PROOFS: [(&str, usize); 2] =
    [("071-proofs-of-lore.md", 100), ("072-proofs-of-sillytavern.md", 90)];

/// The name of the test that a line of a script begins; what is filled in later is cut off.
fn script_test(line: &str) -> Option<&str> {
    let title = line.trim_start().strip_prefix("test(")?;
    let quote = title.chars().next().filter(|quote| "'`".contains(*quote))?;
    let title = title[1..].split(quote).next()?;
    Some(title.split(", ${").next().unwrap_or(title))
}

#[test]
fn a_test_of_a_script_has_its_title_as_its_name() {
    for (line, expected) in [
        ("  test(`two chats, ${name}`, async () => {", Some("two chats")),
        ("test('one click', async ({ tavern }) => {", Some("one click")),
        ("test.setTimeout(1);", None),
        ("export const test = base;", None),
    ] {
        assert_eq!(script_test(line), expected, "{line}");
    }
}

#[test]
fn every_proof_exists() -> Result<(), Failure> {
    let root = root()?;
    let mut known = BTreeSet::new();
    for path in files()? {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if ending == "rs" {
            for line in text(&path)?.lines() {
                let line = line.trim_start().trim_start_matches("async ");
                let function = line.strip_prefix("fn ").and_then(|rest| rest.split('(').next());
                known.extend(function.map(str::to_owned));
            }
        } else if ending == "js" && path.starts_with(root.join("extensions")) {
            known.extend(text(&path)?.lines().filter_map(script_test).map(str::to_owned));
        } else if path.starts_with(root.join("conformance/baseline")) {
            known.extend(text(&path)?.lines().map(str::to_owned));
        }
    }
    for (note, least) in PROOFS {
        let table = text(&root.join("docs/design").join(note))?;
        let proofs = table.lines().filter_map(|line| line.strip_suffix(" |")?.rsplit(" | ").next());
        let proofs: Vec<&str> =
            proofs.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        assert!(proofs.len() > least, "{note}: {} proofs", proofs.len());
        let missing: Vec<&str> = proofs.into_iter().filter(|name| !known.contains(*name)).collect();
        assert_eq!(missing, Vec::<&str>::new(), "{note}");
    }
    Ok(())
}
