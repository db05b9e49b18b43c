//! Obsidian's REST API over http and https: what is there is read and written, and what goes
//! wrong is reported by what the user can do about it.

use loreloom_llm::{
    connection::Address,
    obsidian::{Obsidian, ObsidianError},
    secret::Secret,
};
use loreloom_testkit::obsidian_server::ObsidianServer;

fn vault(url: &str, key: &str, certificate: Option<&str>) -> Obsidian {
    let address = Address::parse(url).unwrap();
    Obsidian::new(address, Some(&Secret::new(key)), certificate.map(str::as_bytes)).unwrap()
}

#[tokio::test]
async fn notes_are_listed_read_and_written_over_http_and_https() {
    for server in [ObsidianServer::start("k"), ObsidianServer::start_encrypted("k")] {
        let server = server.unwrap();
        for path in ["Root.md", "npcs/guards/Änn #1?.md", "npcs/map.png", ".obsidian/app.md"] {
            server.put(path, &format!("text of {path}"));
        }
        let vault = vault(&server.base_url(), "k", server.certificate());
        assert!(vault.about().await.unwrap().authenticated);
        let notes = vault.list().await.unwrap();
        assert_eq!(notes, ["Root.md", "npcs/guards/Änn #1?.md"]);
        let texts = vault.read_all(&notes).await.unwrap();
        assert_eq!(texts[1].as_deref(), Some("text of npcs/guards/Änn #1?.md"));
        assert_eq!(vault.read("gone.md").await.unwrap(), None);
        vault.write("new folder/Bell.md", "It rings.").await.unwrap();
        assert_eq!(server.text("new folder/Bell.md").as_deref(), Some("It rings."));
    }
    let empty = ObsidianServer::start("k").unwrap();
    assert_eq!(vault(&empty.base_url(), "k", None).list().await.unwrap(), [] as [String; 0]);
}

#[tokio::test]
async fn what_goes_wrong_says_what_to_do() {
    let plain = ObsidianServer::start("k").unwrap();
    let encrypted = ObsidianServer::start_encrypted("k").unwrap();
    let other = ObsidianServer::start_encrypted("k").unwrap();
    let gone = ObsidianServer::start("k").unwrap().base_url();
    for (name, vault, code) in [
        ("a wrong key", vault(&plain.base_url(), "wrong", None), "key"),
        ("a certificate nobody named", vault(&encrypted.base_url(), "k", None), "certificate"),
        (
            "another certificate",
            vault(&encrypted.base_url(), "k", other.certificate()),
            "certificate",
        ),
        ("nobody there", vault(&gone, "k", None), "reach"),
    ] {
        for error in [vault.about().await.unwrap_err(), vault.list().await.unwrap_err()] {
            let found = if matches!(error, ObsidianError::Key { .. }) {
                "key"
            } else if matches!(error, ObsidianError::Untrusted { .. }) {
                "certificate"
            } else if matches!(error, ObsidianError::Unreachable { .. }) {
                "reach"
            } else {
                "other"
            };
            assert_eq!(found, code, "{name}: {error}");
        }
    }
    let public = Address::parse("https://8.8.8.8:27124").unwrap();
    assert!(matches!(Obsidian::new(public, None, None), Err(ObsidianError::Public { .. })));
    let address = Address::parse("https://127.0.0.1:1").unwrap();
    let bad = Obsidian::new(address, None, Some(b"nonsense"));
    assert!(matches!(bad, Err(ObsidianError::BadCertificate { .. })));
}

#[tokio::test]
async fn a_server_that_fails_repeatedly_is_left_alone() {
    let server = ObsidianServer::start("k").unwrap();
    let vault = vault(&server.base_url(), "k", None);
    server.fail_with(Some(500));
    for _ in 0..3 {
        let error = vault.list().await.unwrap_err();
        assert!(matches!(error, ObsidianError::Status { status: 500, .. }), "{error}");
    }
    assert!(matches!(vault.list().await, Err(ObsidianError::LeftAlone { .. })));
    assert_eq!(server.asked().len(), 3);
}
