//! Addresses that do not come from the configuration lead nowhere inside.

use bytes::Bytes;
use http::{HeaderMap, Method};
use loreloom_llm::{
    connection::{Address, ClientRules, ConnectionError, Reach},
    upstream::HttpUpstream,
};
use loreloom_ports::{Upstream as _, UpstreamCall};
use loreloom_testkit::model_server::{ModelServer, Reply, Script};

const PUBLIC: ClientRules =
    ClientRules { connect: std::time::Duration::from_secs(5), reach: Reach::Public };

fn call() -> UpstreamCall {
    UpstreamCall {
        method: Method::GET,
        path: "/v1/models".to_owned(),
        headers: HeaderMap::new(),
        body: Bytes::new(),
    }
}

#[test]
fn a_number_of_the_own_network_is_refused_at_once() {
    for text in ["http://127.0.0.1:1", "http://169.254.169.254/latest", "http://[::1]/v1"] {
        let address = Address::parse(text).unwrap();
        let error = HttpUpstream::with(address, None, PUBLIC).unwrap_err();
        assert!(matches!(error, ConnectionError::NotPublic { .. }), "{text}: {error}");
    }
}

#[tokio::test]
async fn a_name_that_points_inwards_is_refused_when_it_is_looked_up() {
    let server = ModelServer::start(Script::new()).unwrap();
    let port = server.base_url().rsplit(':').next().unwrap().to_owned();
    let address = Address::parse(&format!("http://localhost:{port}/v1")).unwrap();
    let anywhere = HttpUpstream::new(address.clone(), None).unwrap();
    assert_eq!(anywhere.send(call()).await.unwrap().status, 200);
    let public = HttpUpstream::with(address, None, PUBLIC).unwrap();
    let error = public.send(call()).await.err().unwrap().to_string();
    assert!(error.contains("is an address of a private network"), "{error}");
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let inside = ModelServer::start(Script::new()).unwrap();
    let there = format!("{}/v1/models", inside.base_url());
    let redirect = Reply::status(307, "").header("location", &there);
    let server = ModelServer::start(Script::new().on("/v1/models", redirect)).unwrap();
    let address = Address::parse(&format!("{}/v1", server.base_url())).unwrap();
    let upstream = HttpUpstream::new(address, None).unwrap();
    assert_eq!(upstream.send(call()).await.unwrap().status, 307);
    assert!(inside.received().is_empty());
}
