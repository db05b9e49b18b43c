//! Vaults: folders of notes and vaults behind Obsidian's REST API, named when the server was started or registered since.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use loreloom_core::{
    dialects::vault::{Note, Selecting, Setup, inspect_setup},
    units::Tokens,
};
use loreloom_ports::Change;
use serde::{Deserialize, Serialize};

use super::{
    caller::{Admin, Caller},
    editing::{Editing, Wrote},
    extract::{Json, Path},
    problem::{Code, Problem},
    routes::routes,
};
use crate::{
    app::App,
    catalog::{self, LintFinding},
    connection_settings::{KeySource, ServerUrl},
    vaults::{RegisteredVault, VaultKeeper, VaultRefusal},
};

routes! {
    GET "/vaults" => list,
    POST "/vaults" => register,
    DELETE "/vaults/{vault}" => unregister,
    POST "/vaults/refresh" => refresh,
    GET "/lint" => lint,
}

/// A vault.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct VaultView {
    /// Its name; empty where there is only one.
    name: String,
    /// Its folder or address, for who may administer the server.
    place: Option<String>,
    /// Whether it was registered here; the others were named at start.
    registered: bool,
    /// How many notes are lore.
    notes: usize,
    /// How many notes it has in all, for who may administer the server.
    files: Option<usize>,
    /// The setting that would admit notes, where it has some and none is lore.
    advice: Option<String>,
    /// Tokens of all their texts.
    tokens: u64,
    /// How many seconds ago it was read, for who may administer the server.
    age_seconds: Option<u64>,
    /// What could not be read then, for who may administer the server.
    problems: Vec<String>,
}

/// All vaults.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct VaultsView {
    /// The vaults, in the order that they are woven from.
    items: Vec<VaultView>,
}

impl VaultView {
    /// A vault of which only the name is known.
    fn of(name: String) -> Self {
        Self {
            name,
            place: None,
            registered: false,
            notes: 0,
            files: None,
            advice: None,
            tokens: 0,
            age_seconds: None,
            problems: Vec::new(),
        }
    }
}

/// The vaults as a caller sees them. The notes of a large one take a while to count, once.
async fn view(app: &App, caller: &Caller) -> Result<VaultsView, Problem> {
    let (lore, counter) = (app.lore.current(), app.connections.counter_of(None));
    let counting = tokio::task::spawn_blocking(move || {
        let Some(vault) = lore.library().vault() else { return Vec::new() };
        let counted = |note: &Arc<Note>| {
            let tokens = vault.find(&note.id()).map(|ix| vault.tokens(ix, counter.as_ref()));
            (note.vault.clone(), tokens.unwrap_or_default())
        };
        lore.library_source().notes.iter().map(counted).collect()
    });
    let failed = |error: tokio::task::JoinError| Problem::new(Code::Failed, error.to_string());
    let counted: Vec<(String, Tokens)> = counting.await.map_err(failed)?;
    let administers = caller.must_administer().is_ok();
    let open = app.lore.vault_keeper().map(|keeper| keeper.open()).unwrap_or_default();
    let sources = app.lore.vault_keeper().filter(|_| administers);
    let sources = sources.map(|keeper| keeper.sources()).unwrap_or_default();
    let mut items: Vec<VaultView> = open
        .into_iter()
        .map(|vault| {
            let source = sources.iter().find(|source| source.name == vault.name);
            VaultView {
                place: administers.then_some(vault.place),
                registered: vault.registered,
                files: source.map(|source| source.files),
                advice: source.and_then(|source| source.advice.clone()),
                age_seconds: source.and_then(|source| Some(source.age?.as_secs())),
                problems: source.map(|source| source.problems.clone()).unwrap_or_default(),
                ..VaultView::of(vault.name)
            }
        })
        .collect();
    for (name, tokens) in counted {
        let at = items.iter().position(|vault| vault.name == name);
        let at = at.unwrap_or_else(|| {
            items.push(VaultView::of(name));
            items.len() - 1
        });
        items[at].notes += 1;
        items[at].tokens += u64::from(tokens.0);
    }
    Ok(VaultsView { items })
}

/// The vaults whose notes are in use. Their notes are in the table of entries.
#[cfg_attr(feature = "schema", utoipa::path(get, path = "/vaults", tag = "books", responses((status = 200, body = VaultsView))))]
async fn list(State(app): State<App>, caller: Caller) -> Result<Json<VaultsView>, Problem> {
    view(&app, &caller).await.map(Json)
}

fn keeper(app: &App) -> Result<&dyn VaultKeeper, Problem> {
    let none = || {
        let detail = "vaults cannot be registered with this server, or not by this tenant";
        Problem::new(Code::SwitchedOff, detail)
    };
    app.lore.vault_keeper().map(AsRef::as_ref).ok_or_else(none)
}

/// A vault to take up: a folder, or the address of Obsidian's Local REST API.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NewVault {
    /// What it is called: letters, digits, `-`, `_` and `.`.
    #[cfg_attr(feature = "schema", schema(pattern = "^[A-Za-z0-9_.-]{1,120}$"))]
    name: String,
    /// The folder on the server's machine.
    folder: Option<String>,
    /// In its place the address of Obsidian's Local REST API.
    url: Option<ServerUrl>,
    /// Where the key of that address comes from; the key itself is not stored.
    #[cfg_attr(feature = "schema", schema(write_only))]
    key: Option<KeySource>,
    /// The certificate that Obsidian made itself, as PEM text, for an address with `https`.
    #[cfg_attr(feature = "schema", schema(write_only))]
    certificate: Option<String>,
    /// Which of its notes are lore, as in the setting `vault.notes`: `tagged`, `all`, tags and
    /// folders. Without it the setting holds.
    notes: Option<String>,
}

const ONE_PLACE: &str = "must be given, or `url` in its place, and not both";
const AT_HOME: &str = "an address is registered by a caller without a key, on the server's own \
                       machine: the server could be made to ask any other machine of its network";

/// Where a new vault is, if the caller may register one there.
async fn place(
    keeper: &dyn VaultKeeper,
    caller: &Caller,
    new: &NewVault,
) -> Result<String, Problem> {
    let wrong = |field: &'static str, rule: &str| {
        Problem::new(Code::WrongValue, format!("`{field}` {rule}")).at(field)
    };
    let folder = match (&new.folder, &new.url) {
        (Some(_), None) if new.key.is_some() => {
            return Err(wrong("key", "is for the address of Obsidian, not for folders"));
        }
        (Some(_), None) if new.certificate.is_some() => {
            return Err(wrong("certificate", "is for the address of Obsidian, not for folders"));
        }
        (Some(folder), None) => folder,
        (None, Some(url)) if caller.is_at_home() => {
            ServerUrl::check_open(url.as_str())?;
            return Ok(url.as_str().to_owned());
        }
        (None, Some(_)) => return Err(Problem::new(Code::Forbidden, AT_HOME).at("url")),
        (None, None) | (Some(_), Some(_)) => return Err(wrong("folder", ONE_PLACE)),
    };
    keeper.check(folder, caller.is_at_home()).await.map_err(|refusal| {
        let code = match refusal {
            VaultRefusal::Outside { .. } => Code::Forbidden,
            VaultRefusal::Open { .. } => Code::Conflict,
            VaultRefusal::Unusable { .. } => Code::WrongValue,
        };
        Problem::new(code, refusal.to_string()).at("folder").with(folder.clone())
    })
}

/// Registers a folder of notes, or a vault behind Obsidian's Local REST API: it is read, kept up
/// with and woven from, also after a restart.
///
/// Callers on the server's own machine may name any folder, and an address of that machine or its
/// network; with a key, which needs the scope `admin`, only folders inside the `vault_roots` of
/// the configuration.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/vaults", tag = "books", request_body = NewVault,
    responses((status = 201, body = Wrote<VaultsView>))
))]
async fn register(
    State(app): State<App>,
    Admin(caller): Admin,
    Json(new): Json<NewVault>,
) -> Result<Response, Problem> {
    let name = new.name.clone();
    let is_fine = |one: char| one.is_ascii_alphanumeric() || "_.-".contains(one);
    if name.is_empty() || name.len() > 120 || !name.chars().all(is_fine) {
        let rule = "must be 1 to 120 letters, digits, `-`, `_` and `.`";
        return Err(Problem::value("name", rule, name));
    }
    let keeper = keeper(&app)?;
    if keeper.open().iter().any(|vault| vault.name == name) {
        let detail = format!("there is a vault `{name}` already");
        return Err(Problem::new(Code::Conflict, detail).at("name").with(name));
    }
    let place = place(keeper, &caller, &new).await?;
    // It is open before it is written down: one that cannot be opened is never registered.
    let NewVault { key, certificate, notes, .. } = new;
    let is_address = RegisteredVault::is_address(&place);
    let certificate = certificate.filter(|text| !text.trim().is_empty());
    let notes = notes.filter(|text| !text.trim().is_empty());
    let vault =
        RegisteredVault { name, place: place.clone(), key, certificate, notes, revision: 0 };
    keeper.add(vault.clone()).await.map_err(|refusal| {
        let (field, rule) = if is_address {
            ("url", "a vault behind an address must be there to be read")
        } else {
            ("folder", "a vault is a folder that can be read and watched")
        };
        let problem = match refusal {
            VaultRefusal::Open { .. } => Problem::new(Code::Conflict, refusal.to_string()),
            VaultRefusal::Outside { .. } | VaultRefusal::Unusable { .. } => {
                Problem::new(Code::WrongValue, format!("{rule}: {refusal}"))
            }
        };
        problem.at(field).with(place)
    })?;
    match changed(&app, &caller, vault.registering()).await {
        Ok(wrote) => Ok((StatusCode::CREATED, wrote).into_response()),
        Err(problem) => {
            // What nobody wrote down is not to stay open.
            app.sync.take_up_vaults().await?;
            Err(problem)
        }
    }
}

/// Takes a registered vault out. Its files stay as they are.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/vaults/{vault}", tag = "books",
    params(("vault" = String, Path, description = "The vault's name")),
    responses((status = 200, body = Wrote<VaultsView>))
))]
async fn unregister(
    State(app): State<App>,
    Admin(caller): Admin,
    Path(vault): Path<String>,
) -> Result<Json<Wrote<VaultsView>>, Problem> {
    let registered = RegisteredVault::all(app.store.as_ref(), &caller.tenant).await?;
    if !registered.iter().any(|one| one.name == vault) {
        if keeper(&app)?.open().iter().any(|open| open.name == vault) {
            let detail = format!("vault `{vault}` was named at start and cannot be taken out here");
            return Err(Problem::new(Code::Conflict, detail).with(vault));
        }
        return Err(Problem::missing("vault", &vault));
    }
    changed(&app, &caller, RegisteredVault::removing(&vault)).await
}

async fn changed(
    app: &App,
    caller: &Caller,
    change: Change,
) -> Result<Json<Wrote<VaultsView>>, Problem> {
    let before = app.store.revision(&caller.tenant).await?;
    let now = app.clock.now();
    let revision = app.store.change(&caller.tenant, &[change], Some(before), now).await?;
    let editing = Editing { app, tenant: &caller.tenant };
    let done = editing.done(before, revision, ()).await?;
    app.sync.take_up_vaults().await?;
    Ok(Json(done.with(view(app, caller).await?)))
}

/// Reads all vaults again, where a change was not noticed: on a network drive, for one.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/vaults/refresh", tag = "books", responses((status = 200, body = VaultsView))
))]
async fn refresh(State(app): State<App>, caller: Caller) -> Result<Json<VaultsView>, Problem> {
    let failed = |reason: String| Problem::new(Code::Failed, reason);
    keeper(&app)?.refresh().await.map_err(failed)?;
    view(&app, &caller).await.map(Json)
}

/// What is odd.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct LintView {
    /// The findings.
    items: Vec<LintFinding>,
}

/// What is known of the vaults besides their notes.
fn setup(app: &App) -> Setup {
    let lore = app.lore.current();
    let selects = lore.rules().vault.selection.is_some();
    let has = |title: &str| {
        let title = title.to_lowercase();
        lore.library_source().notes.iter().any(|note| note.title.to_lowercase() == title)
    };
    let choosing = app.turns.choosing.as_ref().filter(|one| selects && one.is_employed());
    Setup {
        sources: app.lore.vault_keeper().map(|keeper| keeper.sources()).unwrap_or_default(),
        selector: match choosing {
            Some(_) => Selecting::Model,
            None if selects => Selecting::Nobody,
            None => Selecting::Keys,
        },
        unmet: choosing.map(|choosing| choosing.unmet(has)).unwrap_or_default(),
    }
}

/// Looks for mistakes in all lore: keys that never match, entries without keys or text, notes that
/// exclude themselves. Administrators also see vaults that cannot be read, a missing selecting
/// model, and titles it asked for in vain.
#[cfg_attr(feature = "schema", utoipa::path(get, path = "/lint", tag = "entries", responses((status = 200, body = LintView))))]
async fn lint(State(app): State<App>, caller: Caller) -> Result<Json<LintView>, Problem> {
    app.sync.take_up().await?;
    let lore = app.lore.current();
    let mut items = catalog::lint(&lore);
    // Where notes come from, and who chooses them, is the administrator's.
    if caller.must_administer().is_ok() {
        let issues = inspect_setup(&setup(&app)).into_iter();
        items.extend(issues.map(|issue| LintFinding::of(&lore, issue)));
    }
    Ok(Json(LintView { items }))
}
