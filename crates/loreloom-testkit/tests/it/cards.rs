//! Every card book case of the project.

use std::path::Path;

use loreloom_testkit::{
    conformance::{Exceptions, run},
    suites,
};

use crate::workspace::Failure;

#[test]
fn every_card_book_case_holds() -> Result<(), Failure> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/cards");
    let suite = suites::named("cards").ok_or("there is no cards suite")?;
    let summary = run(suite.as_ref(), &directory, &Exceptions::default(), None)?;
    assert_eq!(summary.failed(), Vec::<String>::new());
    assert_eq!(summary.counts(), (450, 0, 0));
    Ok(())
}
