//! Listening.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{body::Body, extract::Request};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use crate::{App, ServerLimits, gate::Gate, guard::Peer, limits::Patient};

/// The answer to a connection above the limit.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n\
    x-content-type-options: nosniff\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// How long to wait after a connection that could not be accepted: the next one would fail for
/// the same reason, too many open files for one.
const BREATH: Duration = Duration::from_millis(50);

/// Serves until `stop`, then until the requests that are running have ended.
pub async fn serve(
    app: App,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let room = Arc::new(Semaphore::new(app.limits.connections));
    let (graceful, gate) = (GracefulShutdown::new(), Arc::new(Gate::new(app.clone())));
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            // A client that does not read it sees the connection close.
            let _unread = stream.try_write(FULL);
            continue;
        };
        let serving = converse(stream, peer, &gate, app.limits, graceful.watcher());
        app.tasks.spawn(async move {
            serving.await;
            drop(place);
        });
    }
    drop(listener);
    graceful.shutdown().await;
    Ok(())
}

/// Serves one connection.
///
/// The kernel must not gather small writes: each is a word of a story that somebody waits for.
fn converse(
    stream: TcpStream,
    peer: SocketAddr,
    gate: &Arc<Gate>,
    limits: ServerLimits,
    watcher: Watcher,
) -> impl Future<Output = ()> + Send + use<> {
    let gate = Arc::clone(gate);
    let answer = service_fn(move |request: Request<Incoming>| {
        let (gate, mut request) = (Arc::clone(&gate), request.map(Body::new));
        request.extensions_mut().insert(Peer(peer));
        async move { Ok::<_, Infallible>(gate.handle(request).await) }
    });
    // A socket that refuses is only slower.
    drop(stream.set_nodelay(true));
    let stream = TokioIo::new(Patient::new(stream, limits.stall));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head.max(LEAST_HEAD));
    let serving = watcher.watch(builder.serve_connection(stream, answer));
    async move {
        if let Err(error) = serving.await {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// The least that the HTTP library reads at once. The gate refuses heads above a smaller limit.
const LEAST_HEAD: usize = 8192;
