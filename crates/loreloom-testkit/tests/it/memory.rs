//! Every memory case of the project: the recorded ones, and our own.

use std::path::{Path, PathBuf};

use loreloom_testkit::{
    conformance::{Exceptions, run},
    suites,
};
use serde_json::Value;

use crate::workspace::Failure;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/memory")
}

#[test]
fn every_memory_case_holds_but_for_the_listed_ones() -> Result<(), Failure> {
    let suite = suites::named("memory").ok_or("there is no memory suite")?;
    let exceptions = Exceptions::read(&directory().join("EXCEPTIONS.md"))?;
    let summary = run(suite.as_ref(), &directory(), &exceptions, None)?;
    assert_eq!(summary.failed(), Vec::<String>::new());
    assert_eq!(summary.counts(), (243, 0, 11));
    Ok(())
}

/// A recorded defect is skipped only because a case of our own has the right result, and
/// nothing else is skipped.
#[test]
fn every_exception_is_a_defect_that_a_case_of_our_own_replaces() -> Result<(), Failure> {
    let exceptions = Exceptions::read(&directory().join("EXCEPTIONS.md"))?;
    let mut cases: Vec<Value> = Vec::new();
    for entry in std::fs::read_dir(directory())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let list: Vec<Value> = serde_json::from_slice(&crate::workspace::bytes(&path)?)?;
            cases.extend(list);
        }
    }
    for case in &cases {
        let name = case["name"].as_str().unwrap_or_default();
        let is_defect = case["quirk"].as_str().is_some_and(|quirk| quirk.starts_with("DEFECT"));
        let is_replaced = cases.iter().any(|own| own["replaces"] == name);
        assert_eq!(exceptions.reason(name).is_some(), is_defect, "{name}");
        assert_eq!(is_replaced, is_defect, "{name}");
    }
    Ok(())
}
