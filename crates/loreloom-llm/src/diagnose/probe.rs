//! Asking a server.

use std::time::Duration;

use http::{
    HeaderValue, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, LOCATION},
};
use loreloom_ports::{Finding, Step};
use reqwest::{RequestBuilder, Response, Url};
use serde_json::{Value, json};

use super::{
    Speech, TestedConnection, doubtful, failed,
    judge::{self, ProbeSaid, ProbeSeen, Streamed, Unanswered},
    number, passed,
};
use crate::connection::{ConnectionError, Reach, bearer, browserless_client, causes, passing};

/// A model that has to be loaded first takes its time.
const LONGEST: Duration = Duration::from_mins(1);
/// Everything else is quick.
const QUICK: Duration = Duration::from_secs(10);
/// The most of an answer that is read.
const LONGEST_ANSWER: usize = 4 << 20;

/// A text whose tokens differ between vocabularies.
const SAMPLE: &str = "The bell of Harrow is cracked; nobody has rung it since the flood of 1643. \
                      “Иди сюда,” she said — 霧が深い — and pulled the rope twice.";

/// The server being asked.
pub(super) struct Probe<'a> {
    candidate: &'a TestedConnection,
    client: reqwest::Client,
    key: Option<HeaderValue>,
}

impl<'a> Probe<'a> {
    pub(super) fn new(candidate: &'a TestedConnection) -> Result<Self, ConnectionError> {
        let client = browserless_client(&candidate.address, candidate.client)?;
        let shown = candidate.address.shown();
        let key = candidate.key.as_ref().map(|key| bearer(key, shown)).transpose()?;
        Ok(Self { candidate, client, key })
    }

    fn with_key(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.key {
            Some(key) => request.header(AUTHORIZATION, key),
            None => request,
        }
    }

    async fn ask(&self, request: RequestBuilder) -> Result<ProbeSaid, Unanswered> {
        let response = self.with_key(request).timeout(QUICK).send().await.map_err(unanswered)?;
        let header = |name| {
            let value = response.headers().get(name);
            value.and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let (status, location) = (response.status(), header(LOCATION));
        let content_type = header(CONTENT_TYPE).unwrap_or_default();
        let body = read(response).await.map_err(unanswered)?;
        let json = serde_json::from_slice(&body).unwrap_or_default();
        Ok(ProbeSaid { status, content_type, location, json })
    }

    fn list_path(&self) -> &'static str {
        match self.candidate.speech {
            Speech::OpenAi => "models",
            Speech::Ollama => "api/tags",
        }
    }

    /// The list of models.
    pub(super) async fn models(&self) -> Result<ProbeSaid, Unanswered> {
        self.ask(self.client.get(self.candidate.address.join(self.list_path()))).await
    }

    /// An address nearby that does have a list of models, if this one has not.
    pub(super) async fn elsewhere(&self, listed: &ProbeSaid) -> Option<String> {
        if listed.status != StatusCode::NOT_FOUND && !listed.json.is_null() {
            return None;
        }
        let address = &self.candidate.address;
        let shown = address.shown();
        let bases = match self.candidate.speech {
            Speech::OpenAi => vec![format!("{shown}/v1"), format!("{shown}/api/v1")],
            Speech::Ollama => {
                let root = shown.trim_end_matches("/v1").trim_end_matches("/api");
                vec![root.to_owned()].into_iter().filter(|root| root != shown).collect()
            }
        };
        for base in bases {
            let url = Url::parse(&format!("{base}/{}", self.list_path())).ok()?;
            if let Ok(said) = self.ask(self.client.get(url)).await
                && (said.status.is_success() && !said.json.is_null()
                    || said.status == StatusCode::UNAUTHORIZED)
            {
                return Some(base);
            }
        }
        None
    }

    /// Whether the name has an address. `reached`: whether the server answered all the same.
    ///
    /// A caller who may reach only public servers gets the same answer for a name of our own
    /// network and for one that does not exist: the names inside are not theirs to find out.
    pub(super) async fn name(&self, reached: bool) -> Finding {
        let address = &self.candidate.address;
        let host = address.host();
        if host.parse::<std::net::IpAddr>().is_ok() {
            return passed(Step::Name, format!("{host} is an address"));
        }
        let reach = self.candidate.client.reach;
        let found = match tokio::net::lookup_host((host, address.port())).await {
            Ok(found) => found.map(|found| found.ip()).collect::<Vec<_>>(),
            Err(_) if reach == Reach::Public && !reached => return not_public(host),
            Err(error) => {
                let reason = format!("`{host}` has no address: {error}");
                return through_proxy(Step::Name, reached, reason, "correct the name in `url`");
            }
        };
        if found.iter().any(|one| reach.permits(*one).is_err()) {
            return not_public(host);
        }
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        passed(Step::Name, format!("{host} is {}", found.join(", ")))
    }

    /// Whether somebody listens.
    pub(super) async fn port(&self, reached: bool) -> Finding {
        let address = &self.candidate.address;
        let (host, port) = (address.host(), address.port());
        if reached {
            return passed(Step::Port, format!("port {port} is open"));
        }
        let found = match self.permitted().await {
            Ok(found) => found,
            Err(refused) => {
                let fix = "put a connection inside your own network into the configuration file";
                return failed(Step::Port, refused, fix);
            }
        };
        // Not by name: it could lead elsewhere when it is looked up again.
        let connecting = tokio::net::TcpStream::connect(&found[..]);
        let limit = self.candidate.client.connect;
        let (reason, fix) = match tokio::time::timeout(limit, connecting).await {
            Ok(Ok(_open)) => return passed(Step::Port, format!("port {port} is open")),
            Ok(Err(error)) => (error.to_string(), "start the server, or correct the port in `url`"),
            Err(_elapsed) => {
                ("nobody answered".to_owned(), "a firewall may be in between, or the host is off")
            }
        };
        failed(Step::Port, format!("port {port} of {host}: {reason}"), fix)
    }

    /// The addresses of the host, if all of them may be reached.
    async fn permitted(&self) -> Result<Vec<std::net::SocketAddr>, String> {
        let address = &self.candidate.address;
        let found = tokio::net::lookup_host((address.host(), address.port())).await;
        let found: Vec<_> = found.map_err(|error| error.to_string())?.collect();
        for one in &found {
            self.candidate.client.reach.permits(one.ip()).map_err(|error| error.to_string())?;
        }
        Ok(found)
    }

    /// A short streamed reply.
    pub(super) async fn stream(&self, model: &str) -> Streamed {
        let question = json!([{"role": "user", "content": "Answer with one word: ready?"}]);
        let (path, body) = match self.candidate.speech {
            Speech::OpenAi => (
                "chat/completions",
                json!({"model": model, "stream": true, "max_tokens": 16, "messages": question}),
            ),
            Speech::Ollama => (
                "api/chat",
                json!({"model": model, "stream": true, "messages": question, "think": false,
                       "options": {"num_predict": 16}}),
            ),
        };
        let request = self.client.post(self.candidate.address.join(path)).json(&body);
        let mut streamed = Streamed::default();
        match self.with_key(request).timeout(LONGEST).send().await {
            Ok(response) => self.listen(response, &mut streamed).await,
            Err(error) => streamed.problem = Some(causes(error)),
        }
        streamed
    }

    async fn listen(&self, mut response: Response, streamed: &mut Streamed) {
        streamed.status = response.status();
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
        content_type.clone_into(&mut streamed.content_type);
        let mut reading = passing(content_type);
        loop {
            match response.chunk().await {
                Ok(Some(bytes)) => {
                    streamed.pieces += 1;
                    reading.push(&bytes);
                }
                Ok(None) => break,
                Err(error) => {
                    streamed.problem = Some(causes(error));
                    return;
                }
            }
        }
        streamed.text = reading.finish().whole().map(|texts| texts.concat());
    }

    /// Whether we count tokens as the server does, if it offers that (llama.cpp).
    pub(super) async fn tokenizer(&self, model: &str) -> Finding {
        let counter = &self.candidate.counter;
        let url = self.candidate.address.serving("/tokenize");
        let body = json!({"content": SAMPLE, "model": model, "add_special": false});
        let said = self.ask(self.client.post(url).json(&body)).await.ok();
        let said = said.filter(|said| said.status.is_success());
        let theirs = said.and_then(|said| said.json["tokens"].as_array().map(Vec::len));
        let theirs = theirs.and_then(|count| u32::try_from(count).ok());
        judge::tokenizer(counter.count(SAMPLE).0, theirs, counter.name())
    }

    /// The context size, if the server reports it.
    pub(super) async fn context(&self, model: &str) -> Option<ProbeSeen> {
        let address = &self.candidate.address;
        let show = self.client.post(address.serving("/api/show")).json(&json!({"model": model}));
        if let Ok(said) = self.ask(show).await
            && let Some(info) = said.json["model_info"].as_object()
        {
            let found = info.iter().find(|(name, _)| name.ends_with(".context_length"));
            let size = found.and_then(|(_, size)| u32::try_from(size.as_u64()?).ok())?;
            return Some(ProbeSeen { size, by: "`/api/show`" });
        }
        let props: Value = self.ask(self.client.get(address.serving("/props"))).await.ok()?.json;
        let size = number(&props, "/default_generation_settings/n_ctx")?;
        Some(ProbeSeen { size, by: "`/props`" })
    }
}

fn not_public(host: &str) -> Finding {
    let found = format!(
        "`{host}` has no public address: the name is not known, or is one of a private network"
    );
    let fix = "put a connection inside your own network into the configuration file";
    failed(Step::Name, found, fix)
}

fn through_proxy(step: Step, reached: bool, reason: String, fix: &str) -> Finding {
    if reached {
        doubtful(step, format!("{reason}; the server was reached through a proxy"), fix)
    } else {
        failed(step, reason, fix)
    }
}

fn unanswered(error: reqwest::Error) -> Unanswered {
    Unanswered { timed_out: error.is_timeout() && !error.is_connect(), reason: causes(error) }
}

async fn read(mut response: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await? {
        body.extend_from_slice(&bytes);
        if body.len() > LONGEST_ANSWER {
            break;
        }
    }
    Ok(body)
}
