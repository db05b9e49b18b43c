//! All stores agree with the naive model on any story.

use std::sync::atomic::{AtomicU32, Ordering};

use loreloom_core::ids::TenantId;
use loreloom_testkit::store_suite::{Opener, machine};
use proptest::{collection::vec, prelude::ProptestConfig, proptest};
use tokio::runtime::Builder;

use crate::openers::sqlite_file;

/// Stories of one run share a server, so each has a tenant of its own.
fn tenant() -> TenantId {
    static STORIES: AtomicU32 = AtomicU32::new(0);
    TenantId(format!("agreement {}", STORIES.fetch_add(1, Ordering::Relaxed)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn stores_agree_with_the_model_on_any_story(actions in vec(machine::any_action(), 1..30)) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let sqlite = sqlite_file().unwrap().unwrap();
        let openers: [&dyn Opener; 1] = [&sqlite];
        runtime.block_on(machine::run(&openers, tenant(), &actions)).unwrap();
    }
}

#[cfg(feature = "postgres")]
proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn postgres_agrees_with_the_model_on_any_story(actions in vec(machine::any_action(), 1..20)) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        if let Some(postgres) = crate::openers::postgres().unwrap() {
            let openers: [&dyn Opener; 1] = [&postgres];
            runtime.block_on(machine::run(&openers, tenant(), &actions)).unwrap();
        }
    }
}
