//! The committed document of the API is the one that the code makes.

use std::{io::Read as _, path::Path};

use flate2::read::GzDecoder;

/// Set to write the document instead of comparing it.
const BLESS: &str = "LORELOOM_BLESS";

#[expect(clippy::disallowed_methods, reason = "the committed document is a file of the repository")]
#[test]
fn the_committed_document_is_the_servers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readable = root.join("docs/openapi.json");
    let contained = root.join("crates/loreloom-server/assets/openapi.json.gz");
    if std::env::var(BLESS).is_ok() {
        std::fs::write(&readable, loreloom_openapi::text().unwrap()).unwrap();
        std::fs::write(&contained, loreloom_openapi::compressed().unwrap()).unwrap();
    }
    let committed = std::fs::read_to_string(&readable).unwrap_or_default();
    let mut sent = Vec::new();
    let packed = std::fs::read(&contained).unwrap_or_default();
    let _whole = GzDecoder::new(packed.as_slice()).read_to_end(&mut sent);
    assert!(
        committed == loreloom_openapi::text().unwrap() && sent == loreloom_openapi::sent().unwrap(),
        "docs/openapi.json, or its copy in the server's assets, is not what the code makes: run \
         `./dev bless-api` and look at the difference"
    );
}

#[test]
fn every_operation_has_an_id_of_its_own_and_every_response_a_description() {
    let document: serde_json::Value =
        serde_json::from_str(&loreloom_openapi::text().unwrap()).unwrap();
    let mut ids = std::collections::BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{method} {path}: `{id}` is used twice");
            for (status, response) in operation["responses"].as_object().unwrap() {
                let description = response["description"].as_str().unwrap_or_default();
                assert!(!description.is_empty(), "{method} {path} {status}");
            }
        }
    }
    assert!(ids.contains("get_chats_chat_turns"), "{ids:?}");
    let schemes = document["components"]["securitySchemes"].as_object().unwrap();
    let names: Vec<&String> = schemes.keys().collect();
    assert_eq!(names, ["api_key", "bearer", "loreloom_key"]);
    // A server on its own machine needs no key.
    assert_eq!(document["security"][0], serde_json::json!({}));
}
