//! Listening.

use std::io;

use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;

use crate::{App, router};

/// Serves until `stop`, then until the requests that are running have ended.
///
/// The kernel must not gather small writes: each is a word of a story that somebody waits
/// for.
pub async fn serve(
    app: App,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    // A socket that refuses is only slower.
    let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
    axum::serve(listener, router(app)).with_graceful_shutdown(stop).await
}
