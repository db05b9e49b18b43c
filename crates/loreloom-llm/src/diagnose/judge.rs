//! What an answer says about a connection.

use http::StatusCode;
use loreloom_ports::{Finding, Step, StepOutcome};
use serde_json::Value;

use super::{Speech, doubtful, failed, finding, number, passed, skipped};
use crate::connection::Address;

/// A server's answer.
#[derive(Clone, Debug, Default)]
pub(super) struct ProbeSaid {
    pub(super) status: StatusCode,
    pub(super) content_type: String,
    /// Where it sends us instead.
    pub(super) location: Option<String>,
    pub(super) json: Value,
}

/// Why there was no answer.
#[derive(Clone, Debug)]
pub(super) struct Unanswered {
    pub(super) reason: String,
    pub(super) timed_out: bool,
}

/// What became of a streamed question.
#[derive(Clone, Debug, Default)]
pub(super) struct Streamed {
    pub(super) status: StatusCode,
    pub(super) content_type: String,
    /// In how many pieces it came.
    pub(super) pieces: usize,
    /// The reply, if it was whole.
    pub(super) text: Option<String>,
    /// What went wrong.
    pub(super) problem: Option<String>,
}

/// A context size, and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProbeSeen {
    pub(super) size: u32,
    pub(super) by: &'static str,
}

pub(super) fn unanswered(error: &Unanswered) -> Finding {
    let fix = if error.timed_out {
        "the server took the connection and said nothing: look at its log, or raise `first_byte`"
    } else {
        "something else than an HTTP server may listen there: check the port, and `http` against \
         `https`"
    };
    failed(Step::Path, error.reason.clone(), fix)
}

/// TLS errors are known by their words: the HTTP client has no other name for them.
pub(super) fn tls(encrypted: bool, listed: &Result<ProbeSaid, Unanswered>) -> Finding {
    match listed {
        _ if !encrypted => skipped(Step::Tls, "the address is `http`"),
        Ok(_) => passed(Step::Tls, "the certificate is trusted"),
        Err(error) => {
            let reason = error.reason.to_ascii_lowercase();
            let certificate = ["certificate", "unknownissuer", "notvalidforname", "expired"];
            if certificate.iter().any(|word| reason.contains(word)) {
                let fix = "use the name the certificate was made for, or let the system trust its \
                           issuer";
                failed(Step::Tls, error.reason.clone(), fix)
            } else if ["handshake", "tls", "invalid message", "corrupt"]
                .iter()
                .any(|word| reason.contains(word))
            {
                failed(Step::Tls, error.reason.clone(), "try `http` instead of `https`")
            } else {
                failed(Step::Tls, error.reason.clone(), "look at the server's log")
            }
        }
    }
}

pub(super) fn path(
    speech: Speech,
    address: &Address,
    said: &ProbeSaid,
    elsewhere: Option<&str>,
) -> Finding {
    let status = said.status;
    if status.is_redirection() {
        let to = said.location.as_deref().unwrap_or("nowhere");
        let fix = format!("set `url` to where it leads: `{to}`");
        return failed(Step::Path, format!("{status}: it redirects to `{to}`"), fix);
    }
    let denied = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if denied || (status.is_success() && !said.json.is_null()) {
        return passed(Step::Path, format!("{} answers {status}", address.shown()));
    }
    let fix = match (elsewhere, speech) {
        (Some(there), _) => format!("set `url` to `{there}`"),
        (None, Speech::OpenAi) => {
            "`url` must be the part before `/chat/completions`; usually it ends with `/v1`"
                .to_owned()
        }
        (None, Speech::Ollama) => {
            "`url` must be the server's own, without a path; a server without `/api/tags` is not \
             Ollama: try `kind = \"openai\"`"
                .to_owned()
        }
    };
    let what = if status.is_success() {
        format!("{status}, but the list of models is no JSON (`{}`)", said.content_type)
    } else {
        format!("the list of models answers {status}")
    };
    if status.is_server_error() {
        return failed(Step::Path, what, "the server has a fault of its own: look at its log");
    }
    failed(Step::Path, what, fix)
}

pub(super) fn key(sent: bool, said: &ProbeSaid) -> Finding {
    let denied = matches!(said.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    match (denied, sent) {
        (true, true) => failed(
            Step::Key,
            format!("the server answers {} to the key", said.status),
            "check that `key` names the right one and that it has not expired",
        ),
        (true, false) => failed(
            Step::Key,
            format!("the server answers {} without a key", said.status),
            "set `key` to `env:NAME` or `file:PATH`; a front end that sends its own needs none \
             here",
        ),
        (false, true) => passed(Step::Key, "the key is accepted"),
        (false, false) => passed(Step::Key, "no key is needed to list the models"),
    }
}

/// The models of a list, in OpenAI's form or in Ollama's.
pub(super) fn names(said: &ProbeSaid) -> Vec<String> {
    let list = said.json.get("data").or_else(|| said.json.get("models")).unwrap_or(&said.json);
    let name = |model: &Value| {
        let named = model["id"].as_str().or_else(|| model["name"].as_str());
        named.or_else(|| model.as_str()).map(str::to_owned)
    };
    list.as_array().into_iter().flatten().filter_map(name).collect()
}

/// The most names that are passed on.
const MOST_MODELS: usize = 500;

pub(super) fn models(models: &[String], wanted: Option<&str>) -> Finding {
    let names = models.iter().take(MOST_MODELS).cloned().collect();
    Finding { models: names, ..judged_models(models, wanted) }
}

fn judged_models(models: &[String], wanted: Option<&str>) -> Finding {
    let count = models.len();
    let some = || {
        let shown = models.iter().take(5).map(|name| format!("`{name}`"));
        shown.collect::<Vec<_>>().join(", ")
    };
    match wanted {
        None if models.is_empty() => {
            doubtful(Step::Models, "the server lists no model", "set `model`, or load one there")
        }
        None => passed(Step::Models, format!("{count}: {}", some())),
        // Ollama's names may leave out their tag.
        Some(wanted)
            if models.iter().any(|name| {
                name == wanted || name.strip_suffix(":latest").is_some_and(|name| name == wanted)
            }) =>
        {
            passed(Step::Models, format!("`{wanted}` is one of {count}"))
        }
        Some(wanted) => doubtful(
            Step::Models,
            format!("`{wanted}` is none of {count}: {}", some()),
            "set `model` to one of them, or load it there",
        ),
    }
}

pub(super) fn stream(model: &str, streamed: &Streamed) -> Finding {
    let Streamed { status, content_type, pieces, text, problem } = streamed;
    if let Some(problem) = problem {
        return failed(Step::Stream, problem.clone(), "look at the server's log");
    }
    if !status.is_success() {
        let fix = match *status {
            StatusCode::NOT_FOUND => "the model is not there: set `model`, or load it",
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "the key may list models, but not use this one"
            }
            StatusCode::PAYMENT_REQUIRED => "the account has no credit",
            StatusCode::TOO_MANY_REQUESTS => "the account's limit is reached: wait, or raise it",
            _ => "look at the server's log",
        };
        return failed(Step::Stream, format!("`{model}` answers {status}"), fix);
    }
    let Some(text) = text else {
        let fix = "a proxy in between may cut streams off; raise its time limit";
        return failed(Step::Stream, "the reply did not come to its end", fix);
    };
    let streams = content_type.starts_with("text/event-stream")
        || content_type.starts_with("application/x-ndjson");
    if !streams {
        let fix = "the server or a proxy in between does not stream: front ends will wait";
        return doubtful(Step::Stream, format!("the reply came whole, as `{content_type}`"), fix);
    }
    let said: String = text.trim().chars().take(40).collect();
    passed(Step::Stream, format!("`{model}` said “{said}” in {pieces} pieces"))
}

/// Ours and the server's number of tokens of one text.
pub(super) fn tokenizer(ours: u32, theirs: Option<u32>, name: &str) -> Finding {
    let Some(theirs) = theirs else {
        let found =
            format!("counted with {name}; the server does not count, so this is not checked");
        return finding(Step::Tokenizer, StepOutcome::Passed, found);
    };
    let off = f64::from(ours.abs_diff(theirs)) / f64::from(theirs.max(1)) * 100.0;
    let found = format!("{name} counts {ours} tokens where the server counts {theirs}");
    if off <= 5.0 {
        passed(Step::Tokenizer, found)
    } else {
        let fix = "set `tokenizer` to the model's own `{ file = \"tokenizer.json\" }`";
        doubtful(Step::Tokenizer, format!("{found}, {off:.0} % off"), fix)
    }
}

/// The context size in a list of models.
pub(super) fn context_of(list: &Value, model: &str) -> Option<ProbeSeen> {
    let entries = list.get("data").or_else(|| list.get("models"))?.as_array()?;
    let entry = entries.iter().find(|one| one["id"] == model || one["name"] == model)?;
    let names = [
        "/context_length",
        "/max_model_len",
        "/max_context_length",
        "/context_window",
        "/meta/n_ctx",
        "/meta/n_ctx_train",
    ];
    let size = names.iter().find_map(|name| number(entry, name))?;
    Some(ProbeSeen { size, by: "the list of models" })
}

pub(super) fn context(configured: Option<u32>, seen: Option<ProbeSeen>) -> Finding {
    match (configured, seen) {
        (Some(ours), Some(ProbeSeen { size, by })) if ours > size => doubtful(
            Step::Context,
            format!("{ours} tokens are configured, {by} says {size}"),
            format!("set `context = {size}`, or load the model with more"),
        ),
        (Some(ours), Some(ProbeSeen { size, by })) => {
            passed(Step::Context, format!("{ours} tokens are configured, {by} says {size}"))
        }
        (None, Some(ProbeSeen { size, by })) => {
            passed(Step::Context, format!("{by} says {size} tokens"))
        }
        (Some(ours), None) => {
            passed(Step::Context, format!("{ours} tokens are configured; the server does not say"))
        }
        (None, None) => doubtful(
            Step::Context,
            "the server does not say how much it reads",
            "set `context` to what the model was loaded with",
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(status: u16, json: Value) -> ProbeSaid {
        let status = StatusCode::from_u16(status).unwrap();
        ProbeSaid { status, json, ..ProbeSaid::default() }
    }

    #[test]
    fn a_path_is_judged_by_what_answers_there() {
        let address = Address::parse("http://h/x").unwrap();
        for (status, json, outcome, fix) in [
            (200, json!({"data": []}), StepOutcome::Passed, None),
            (401, Value::Null, StepOutcome::Passed, None),
            (200, Value::Null, StepOutcome::Failed, Some("`url` must be the part before")),
            (404, json!({}), StepOutcome::Failed, Some("`url` must be the part before")),
            (308, json!({}), StepOutcome::Failed, Some("set `url` to where it leads")),
            (500, json!({}), StepOutcome::Failed, Some("the server has a fault")),
        ] {
            let found = path(Speech::OpenAi, &address, &said(status, json), None);
            assert_eq!(found.outcome, outcome, "{status}");
            let begins = |fix: &str| found.fix.as_deref().is_some_and(|f| f.starts_with(fix));
            assert!(fix.map_or(found.fix.is_none(), begins), "{status}: {:?}", found.fix);
        }
        let there = path(Speech::OpenAi, &address, &said(404, json!({})), Some("http://h/v1"));
        assert_eq!(there.fix.as_deref(), Some("set `url` to `http://h/v1`"));
    }

    #[test]
    fn lists_of_every_server_are_read() {
        for (json, expected, size) in [
            (json!({"data": [{"id": "a", "max_model_len": 4096}]}), vec!["a"], Some(4096)),
            (json!({"models": [{"name": "a:latest"}]}), vec!["a:latest"], None),
            (json!(["a"]), vec!["a"], None),
            (json!({}), vec![], None),
        ] {
            assert_eq!(names(&said(200, json.clone())), expected, "{json}");
            assert_eq!(context_of(&json, "a").map(|seen| seen.size), size, "{json}");
        }
        let latest = models(&["a:latest".to_owned()], Some("a"));
        assert_eq!(latest.outcome, StepOutcome::Passed);
        assert_eq!(models(&["b".to_owned()], Some("a")).outcome, StepOutcome::Doubtful);
    }

    #[test]
    fn more_context_than_the_model_has_is_doubtful() {
        let seen = |size| Some(ProbeSeen { size, by: "it" });
        assert_eq!(context(Some(8192), seen(4096)).outcome, StepOutcome::Doubtful);
        assert_eq!(context(Some(4096), seen(8192)).outcome, StepOutcome::Passed);
        assert_eq!(context(None, None).outcome, StepOutcome::Doubtful);
    }
}
