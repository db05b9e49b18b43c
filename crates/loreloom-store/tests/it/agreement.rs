//! All stores agree with the naive model, whatever is done to a story.

use loreloom_testkit::store_suite::{Opener, machine};
use proptest::{collection::vec, prelude::ProptestConfig, proptest};
use tokio::runtime::Builder;

use crate::openers::{memory, sqlite_file};

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn stores_agree_with_the_model_on_any_story(deeds in vec(machine::deed(), 1..30)) {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        let memory = memory().unwrap().unwrap();
        let sqlite = sqlite_file().unwrap().unwrap();
        let openers: [&dyn Opener; 2] = [&memory, &sqlite];
        runtime.block_on(machine::run(&openers, "agreement".into(), &deeds)).expect("no failure");
    }
}
