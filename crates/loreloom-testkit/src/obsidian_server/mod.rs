//! A server on loopback that speaks Obsidian's Local REST API, over http or https.
//!
//! Its vault is a map from paths to texts that tests read and change; it keeps every request.

mod tls;

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use axum::{
    Json, Router,
    extract::{Request, State},
    http::{Method, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse as _, Response},
};
use serde_json::json;
use tokio::{net::TcpListener, sync::oneshot};

/// A running server; it ends with this value.
pub struct ObsidianServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    certificate: Option<String>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

struct Shared {
    key: String,
    files: Mutex<BTreeMap<String, String>>,
    asked: Mutex<Vec<String>>,
    failing: Mutex<Option<u16>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ObsidianServer {
    /// Starts a server that wants this key, over http.
    pub fn start(key: &str) -> io::Result<Self> {
        Self::serve(key, false)
    }

    /// The same over https, with a certificate that it made itself.
    pub fn start_encrypted(key: &str) -> io::Result<Self> {
        Self::serve(key, true)
    }

    fn serve(key: &str, encrypted: bool) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            key: key.to_owned(),
            files: Mutex::default(),
            asked: Mutex::default(),
            failing: Mutex::default(),
        });
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let identity = if encrypted { Some(tls::Identity::made()?) } else { None };
        let certificate = identity.as_ref().map(|identity| identity.pem.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let thread =
            thread::Builder::new().name("obsidian-server".to_owned()).spawn(move || {
                runtime.block_on(async {
                    let Ok(listener) = TcpListener::from_std(listener) else { return };
                    let serving = async {
                        match identity {
                            Some(identity) => axum::serve(identity.listen(listener), router).await,
                            None => axum::serve(listener, router).await,
                        }
                    };
                    tokio::select! {
                        _ended = serving => {}
                        _stopped = stopped => {}
                    }
                });
                runtime.shutdown_background();
            })?;
        Ok(Self { address, shared, certificate, stop: Some(stop), thread: Some(thread) })
    }

    /// `http://127.0.0.1:PORT` or `https://…`.
    pub fn base_url(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The certificate of a server that has one, as PEM.
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// Puts a file into the vault.
    pub fn put(&self, path: &str, text: &str) {
        lock(&self.shared.files).insert(path.to_owned(), text.to_owned());
    }

    /// Takes a file out of the vault.
    pub fn remove(&self, path: &str) {
        lock(&self.shared.files).remove(path);
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<String> {
        lock(&self.shared.files).get(path).cloned()
    }

    /// Answers everything with a status from now on; `None` answers as it should.
    pub fn fail_with(&self, status: Option<u16>) {
        *lock(&self.shared.failing) = status;
    }

    /// Every request so far: method and path.
    pub fn asked(&self) -> Vec<String> {
        lock(&self.shared.asked).clone()
    }
}

impl Drop for ObsidianServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended by itself.
            let _nobody = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = decoded(parts.uri.path());
    lock(&shared.asked).push(format!("{} {path}", parts.method));
    if let Some(status) = *lock(&shared.failing) {
        return StatusCode::from_u16(status).unwrap_or_default().into_response();
    }
    let key = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let authenticated = key == Some(&format!("Bearer {}", shared.key));
    if path == "/" {
        let service = "Obsidian Local REST API";
        return Json(json!({
            "status": "OK", "service": service, "authenticated": authenticated
        }))
        .into_response();
    }
    if !authenticated {
        let error = json!({ "errorCode": 40101, "message": "Authorization required." });
        return (StatusCode::UNAUTHORIZED, Json(error)).into_response();
    }
    let Some(inside) = path.strip_prefix("/vault/") else {
        return StatusCode::NOT_FOUND.into_response();
    };
    match parts.method {
        Method::PUT => {
            let Ok(bytes) = axum::body::to_bytes(body, 4 << 20).await else {
                return StatusCode::PAYLOAD_TOO_LARGE.into_response();
            };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            lock(&shared.files).insert(inside.to_owned(), text);
            StatusCode::NO_CONTENT.into_response()
        }
        Method::GET if inside.is_empty() || inside.ends_with('/') => listing(&shared, inside),
        Method::GET => match lock(&shared.files).get(inside) {
            Some(text) => text.clone().into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        },
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

/// The files and folders of a folder; one that holds nothing is not there.
fn listing(shared: &Shared, folder: &str) -> Response {
    let files = lock(&shared.files);
    let mut names: Vec<String> = Vec::new();
    for inside in files.keys().filter_map(|path| path.strip_prefix(folder)) {
        let name = match inside.split_once('/') {
            Some((inner, _)) => format!("{inner}/"),
            None => inside.to_owned(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() && !folder.is_empty() {
        return StatusCode::NOT_FOUND.into_response();
    }
    Json(json!({ "files": names })).into_response()
}

fn decoded(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let code = digits.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let (byte, left) = match code.filter(|_| *first == b'%') {
            Some(code) => (code, &after[2..]),
            None => (*first, after),
        };
        bytes.push(byte);
        rest = left;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
