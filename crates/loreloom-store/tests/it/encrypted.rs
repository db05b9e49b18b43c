//! PostgreSQL over an encrypted connection.

use loreloom_core::{ids::TenantId, units::Timestamp};
use loreloom_store::StoreAddress;
use loreloom_testkit::postgres::Cluster;

/// The number of chats at an address after creating one, or the error.
async fn chats_at(address: &str) -> Result<usize, String> {
    let store = address
        .parse::<StoreAddress>()
        .map_err(|error| chain(&error))?
        .open()
        .await
        .map_err(|error| chain(&error))?;
    let tenant = TenantId::local();
    let opened = store.open_chat(&tenant, &"tale".into(), "Tale", Timestamp(0)).await;
    opened.map_err(|error| chain(&error))?;
    Ok(store.chats(&tenant).await.map_err(|error| chain(&error))?.len())
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        message = format!("{message}: {source}");
        next = source.source();
    }
    message
}

#[tokio::test]
async fn a_server_is_encrypted_to_and_trusted_only_by_its_certificate() {
    let Some(cluster) = Cluster::start_encrypted().unwrap() else { return };
    let (address, certificate) = cluster.encrypted().unwrap();
    let certificate = certificate.display();
    let trusted = format!("{address}?sslmode=require&sslrootcert={certificate}");
    assert_eq!(chats_at(&trusted).await, Ok(1));
    let stranger = chats_at(&format!("{address}?sslmode=require")).await.unwrap_err();
    assert!(stranger.contains("certificate"), "{stranger}");
    let open = chats_at(&format!("{address}?sslmode=disable")).await;
    assert_eq!(open, Ok(1));
}
