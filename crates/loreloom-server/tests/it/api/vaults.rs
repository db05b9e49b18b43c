//! Vaults that are registered, or not, and what lint tells of them.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use loreloom_core::{
    dialects::vault::{NoteSource, SelectionRules},
    ids::TenantId,
    report::Warning,
    rules::{Rules, VaultUse},
};
use loreloom_ports::DocumentStore as _;
use loreloom_server::{KeySource, OpenVault, RegisteredVault, VaultKeeper, VaultRefusal};
use serde_json::{Value, json};

use super::{Api, Setup};

/// Keeps vaults that are no folders; those of a certain name cannot be opened.
#[derive(Default)]
struct Pretending {
    open: Mutex<Vec<OpenVault>>,
    sources: Vec<NoteSource>,
}

#[async_trait]
impl VaultKeeper for Pretending {
    fn open(&self) -> Vec<OpenVault> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn check(&self, folder: &str, _anywhere: bool) -> Result<String, VaultRefusal> {
        Ok(folder.to_owned())
    }

    async fn add(&self, vault: RegisteredVault) -> Result<(), VaultRefusal> {
        let RegisteredVault { name, place, .. } = vault;
        if place.ends_with("broken") {
            let reason = format!("`{place}` cannot be watched: no more watches");
            return Err(VaultRefusal::Unusable { reason });
        }
        if let Some(open) = self.open().into_iter().find(|open| open.place == place) {
            return Err(VaultRefusal::Open { place, name: open.name });
        }
        let vault = OpenVault { name, place, registered: true };
        self.open.lock().unwrap_or_else(PoisonError::into_inner).push(vault);
        Ok(())
    }

    async fn begin_turn(&self, _turn: u64, begin: &(dyn Fn() + Send + Sync)) -> Vec<Warning> {
        begin();
        Vec::new()
    }

    fn sources(&self) -> Vec<NoteSource> {
        self.sources.clone()
    }

    async fn keep(&self) -> Result<(), String> {
        Ok(())
    }

    async fn refresh(&self) -> Result<(), String> {
        Ok(())
    }
}

#[tokio::test]
async fn a_vault_that_cannot_be_opened_is_not_registered() {
    let api = Api::start().await;
    api.loreloom.app.lore.keep_vaults(Arc::new(Pretending::default()));
    let (store, tenant) = (Arc::clone(&api.loreloom.store), TenantId::local());
    let before = store.revision(&tenant).await.unwrap();
    let new = json!({"name": "notes", "folder": "/notes/broken"});
    let refused = api.call("POST", "/vaults", new).await;
    assert_eq!(refused.json["field"], "folder", "{}", refused.text);
    assert_eq!(
        refused.refused(422),
        (
            "wrong_value".to_owned(),
            "a vault is a folder that can be read and watched: `/notes/broken` cannot be \
             watched: no more watches"
                .to_owned()
        )
    );
    assert_eq!(RegisteredVault::all(store.as_ref(), &tenant).await.unwrap(), []);
    assert_eq!(store.revision(&tenant).await.unwrap(), before);
    assert_eq!(api.get("/vaults").await.good()["items"], json!([]));
    let new = json!({"name": "notes", "folder": "/notes/whole"});
    assert_eq!(api.call("POST", "/vaults", new).await.status, 201);
    let registered = RegisteredVault::all(store.as_ref(), &tenant).await.unwrap();
    assert_eq!(registered[0].place, "/notes/whole");
    let again = json!({"name": "twice", "folder": "/notes/whole"});
    let refused = api.call("POST", "/vaults", again).await;
    assert_eq!(refused.json["field"], "folder", "{}", refused.text);
    let rule = "notes of `/notes/whole` are open already, as vault `notes`".to_owned();
    assert_eq!(refused.refused(409), ("conflict".to_owned(), rule));
}

#[tokio::test]
async fn an_address_is_registered_with_the_source_of_its_key_which_is_never_told() {
    let api = Api::start().await;
    api.loreloom.app.lore.keep_vaults(Arc::new(Pretending::default()));
    let url = "http://127.0.0.1:27123";
    for (new, field, rule) in [
        (json!({}), "folder", "`folder` must be given, or `url` in its place, and not both"),
        (
            json!({"folder": "/notes", "url": url}),
            "folder",
            "`folder` must be given, or `url` in its place, and not both",
        ),
        (
            json!({"folder": "/notes", "key": "env:KEY"}),
            "key",
            "`key` is for the address of Obsidian, not for folders",
        ),
        (
            json!({"url": "http://ann:sk-canary@127.0.0.1:27123"}),
            "url",
            "`url` must have no user name, password, query or fragment: a key is named by its \
             source",
        ),
    ] {
        let mut new = new;
        new["name"] = json!("notes");
        let refused = api.call("POST", "/vaults", new).await;
        assert_eq!(refused.json["field"], field, "{}", refused.text);
        assert_eq!(refused.refused(422).1, rule);
    }
    let new = json!({"name": "notes", "url": url, "key": "sk-canary"});
    let refused = api.call("POST", "/vaults", new).await;
    assert!(refused.status == 422 && !refused.text.contains("canary"), "{}", refused.text);
    let new = json!({"name": "notes", "url": url, "key": "env:LORELOOM_CANARY"});
    let made = api.call("POST", "/vaults", new).await;
    assert!(made.status == 201 && !made.text.contains("CANARY"), "{}", made.text);
    let listed = api.get("/vaults").await;
    assert!(!listed.text.contains("CANARY"), "{}", listed.text);
    assert_eq!(listed.json["items"][0]["place"], url);
    let registered =
        RegisteredVault::all(api.loreloom.store.as_ref(), &TenantId::local()).await.unwrap();
    let key = KeySource::Environment("LORELOOM_CANARY".to_owned());
    assert_eq!((registered[0].place.as_str(), &registered[0].key), (url, &Some(key)));
}

#[tokio::test]
async fn lint_tells_what_is_odd_about_where_notes_come_from() {
    let vault = VaultUse { selection: Some(SelectionRules::default()), ..VaultUse::default() };
    let rules = Rules { vault, ..Rules::default() };
    let api = Api::with(Setup { rules, ..Setup::default() }).await;
    let remote = NoteSource { remote: true, has_key: true, ..NoteSource::default() };
    let named = |name: &str| NoteSource { name: name.to_owned(), ..remote.clone() };
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let sources = vec![
        NoteSource { ttl: seconds(0), ..named("busy") },
        NoteSource { ttl: seconds(10), age: seconds(31), turn: seconds(1), ..named("old") },
        NoteSource { ttl: seconds(10), age: seconds(31), turn: seconds(30), ..named("idle") },
        NoteSource { problems: vec!["nobody answers".to_owned()], ..named("gone") },
    ];
    let open = OpenVault { name: "gone".to_owned(), place: "p".to_owned(), registered: false };
    let keeper = Pretending { open: Mutex::new(vec![open]), sources };
    api.loreloom.app.lore.keep_vaults(Arc::new(keeper));
    let found = api.get("/lint").await.good();
    let found: Vec<(&str, &Value)> = found["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["book"].as_str().unwrap(), &one["parameters"]))
        .collect();
    let expected = [
        ("", json!({"code": "no_selector"})),
        ("busy", json!({"code": "read_every_turn", "vault": "busy"})),
        ("old", json!({"code": "stale", "vault": "old", "seconds": 31, "ttl": 10})),
        ("gone", json!({"code": "not_read", "vault": "gone", "reason": "nobody answers"})),
    ];
    assert_eq!(found, expected.each_ref().map(|(book, kind)| (*book, kind)));
    let vaults = api.get("/vaults").await.good();
    assert_eq!(vaults["items"][0]["problems"], json!(["nobody answers"]));
}
