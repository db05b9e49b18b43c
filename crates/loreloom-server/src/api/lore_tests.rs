//! Running lore tests.

use axum::extract::State;
use loreloom_core::{
    library::Cast,
    lore_tests::{TestResult, TestSetup, run},
};
use loreloom_formats::lore_tests;
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    extract::Json,
    lore_patch::LorePatch,
    problem::{Code, Problem},
    routes::routes,
};
use crate::app::App;

routes! {
    POST "/tests/run" => run_tests,
}

/// Tests to run.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct TestsBody {
    /// A file of tests, as `loreloom test` reads it.
    yaml: String,
    /// Changes to run them with, which are not saved.
    patch: Option<LorePatch>,
}

/// What became of tests.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct TestsView {
    /// How many hold.
    passed: usize,
    /// How many do not.
    failed: usize,
    /// All of them, in order.
    items: Vec<TestResult>,
}

/// The longest file of tests.
const MOST_BYTES: usize = 1 << 20;

/// Runs lore tests against today's lore, or with changes: says of each expectation whether it
/// holds, and if not, what was decided instead. Stores nothing.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/tests/run", tag = "replay", request_body = TestsBody,
    responses((status = 200, body = TestsView))
))]
async fn run_tests(
    State(app): State<App>,
    _caller: Caller,
    Json(body): Json<TestsBody>,
) -> Result<Json<TestsView>, Problem> {
    if body.yaml.len() > MOST_BYTES {
        let rule = "must have at most 1048576 bytes";
        return Err(Problem::value("yaml", rule, body.yaml.len()));
    }
    let tests = lore_tests::read(&body.yaml)
        .map_err(|error| Problem::new(Code::WrongValue, error.to_string()).at("yaml"))?;
    app.sync.take_up().await?;
    let lore = app.lore.current();
    let other = match &body.patch {
        Some(patch) => Some(patch.over(lore.library_source(), Some("patch"))?),
        None => None,
    };
    let (live, counter) = (app.settings.now(), app.connections.counter_of(None));
    let working = tokio::task::spawn_blocking(move || {
        let other = other.map(|source| (source.compile(), source.rules));
        let (library, rules) =
            other.as_ref().map_or((lore.library(), lore.rules()), |(one, rules)| (one, rules));
        let (counter, user) = (counter.as_ref(), live.defaults.user.as_str());
        let setup = TestSetup { library, rules, counter, user, context: live.defaults.context };
        run(&tests, &setup, |cast: &Cast<'_>| Some(lore.attachments(cast)))
    });
    let failed = |error: tokio::task::JoinError| Problem::new(Code::Failed, error.to_string());
    let items = working.await.map_err(failed)?;
    let passed = items.iter().filter(|one| one.passed).count();
    Ok(Json(TestsView { passed, failed: items.len() - passed, items }))
}
