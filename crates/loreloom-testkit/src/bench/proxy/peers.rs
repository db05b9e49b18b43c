//! The proxy beside `LiteLLM`'s: the same requests, the same upstream, taking turns in one run.

use std::{
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use tokio::{net::TcpListener, task::JoinSet, time::Instant};

use super::{
    at_share,
    beside::{Beside, Part},
    child::Server,
    wire::Client,
};
use crate::bench::figure::Figure;

/// Requests that are not counted, and those that are.
const WARM: usize = 50;
const COUNTED: usize = 400;
/// How long the peer may take to start: it imports a lot.
const PATIENCE: Duration = Duration::from_mins(3);

/// A peer as a child; it ends with this value.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// Measures both against the bare upstream. `litellm` is the peer's program.
pub(super) async fn run(
    litellm: &Path,
    print: &mut dyn FnMut(Figure),
) -> Result<(), Box<dyn std::error::Error>> {
    let upstream = Beside::start(Part::Upstream)?;
    let bare = upstream.address;
    let server = Server::start(bare, 1000)?;
    let folder = tempfile::tempdir()?;
    let (peer, there) = start(litellm, folder.path(), bare).await?;
    let body = r#"{"model":"m","messages":[{"role":"system","content":"You are the keeper of the lighthouse."},{"role":"user","content":"Somebody asks the keeper about place7 and what became of it."}]}"#;
    let mut direct = Client::connect(bare, false).await?;
    let mut passing = Client::connect(server.address, false).await?;
    let mut weaving = Client::connect(server.address, true).await?;
    let mut theirs = Client::connect(there, false).await?;
    let mut times: [Vec<Duration>; 4] = Default::default();
    for at in 0..WARM + COUNTED {
        for (client, times) in
            [&mut direct, &mut passing, &mut weaving, &mut theirs].into_iter().zip(&mut times)
        {
            let answer = client.ask(body).await?;
            if at >= WARM {
                times.push(answer.whole);
            }
        }
    }
    for share in [0.5, 0.99] {
        let added =
            |one: &[Duration]| (at_share(one, share) - at_share(&times[0], share)).max(1e-3);
        let peer = added(&times[3]);
        let name = format!("added p{:.0}", share * 100.0);
        print(Figure::new(format!("LiteLLM, {name}"), peer, "ms"));
        for (who, one) in [("passed on", &times[1]), ("1,000 entries woven", &times[2])] {
            let ours = added(one);
            let figure = Figure::new(format!("{who}, {name}"), ours, "ms");
            print(figure.against(peer / ours, "times less than LiteLLM"));
        }
    }
    let ours = rate(server.address, body).await?;
    let their = rate(there, body).await?;
    print(Figure::new("LiteLLM, requests a second at c=16", their, "/s"));
    let figure = Figure::new("passed on, requests a second at c=16", ours, "/s");
    print(figure.against(ours / their, "times LiteLLM's"));
    drop(peer);
    Ok(())
}

async fn start(
    litellm: &Path,
    folder: &Path,
    upstream: SocketAddr,
) -> Result<(Peer, SocketAddr), Box<dyn std::error::Error>> {
    let config = folder.join("config.yaml");
    let text = format!(
        "model_list:\n  - model_name: m\n    litellm_params:\n      model: openai/m\n      \
         api_base: http://{upstream}/v1\n      api_key: none\n"
    );
    #[expect(clippy::disallowed_methods, reason = "a benchmark writes its own input")]
    std::fs::write(&config, text)?;
    // The peer does not say which port it took, so we look for a free one first.
    let free = TcpListener::bind("127.0.0.1:0").await?;
    let address = free.local_addr()?;
    drop(free);
    let child = Command::new(litellm)
        .args(["--host", "127.0.0.1", "--port", &address.port().to_string(), "--config"])
        .arg(&config)
        .env("LITELLM_TELEMETRY", "False")
        // Neither side asks for a key: that would only slow the peer down.
        .env("LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY", "true")
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("`{}` cannot be started: {error}", litellm.display()))?;
    let mut peer = Peer(child);
    let begun = Instant::now();
    let body = r#"{"model":"m","messages":[{"role":"user","content":"Are you there?"}]}"#;
    while begun.elapsed() < PATIENCE {
        if let Some(status) = peer.0.try_wait()? {
            return Err(format!("LiteLLM ended by itself: {status}").into());
        }
        if let Ok(mut client) = Client::connect(address, false).await
            && client.ask(body).await.is_ok_and(|answer| answer.good)
        {
            return Ok((peer, address));
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Err(format!("LiteLLM did not answer within {} s", PATIENCE.as_secs()).into())
}

/// Requests a second with sixteen clients that never wait.
async fn rate(address: SocketAddr, body: &'static str) -> Result<f64, Box<dyn std::error::Error>> {
    const TIME: Duration = Duration::from_secs(4);
    let mut clients = JoinSet::new();
    let begun = Instant::now();
    for _ in 0..16 {
        clients.spawn(async move {
            let mut client = Client::connect(address, false).await?;
            let mut done = 0_u32;
            while begun.elapsed() < TIME {
                // A refusal is no answer.
                done += u32::from(client.ask(body).await?.good);
            }
            std::io::Result::Ok(done)
        });
    }
    let mut all = 0;
    while let Some(done) = clients.join_next().await {
        all += done??;
    }
    Ok(f64::from(all) / begun.elapsed().as_secs_f64())
}
