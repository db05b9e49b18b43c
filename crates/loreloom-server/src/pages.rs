//! The plain web page: the last prompt, and why it is so.
//!
//! All of it is escaped text in HTML from the server. It has no script, so lore cannot run any,
//! and the policy forbids scripts as well.

use std::time::Duration;

use axum::{
    Json,
    extract::State,
    response::{Html, IntoResponse, Response},
};
use http::{
    HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
};
use loreloom_core::{
    ids::EntryId,
    place::Provenance,
    report::{Outcome, Span, Verdict, words},
};
use serde_json::json;

use crate::{App, last_turn::LastTurn};

const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// A store that takes longer to answer fails.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// Whether the server is up.
pub(crate) async fn health() -> Json<serde_json::Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// Whether the server can do its work: the store answers and no turn waits for it. Anybody may
/// ask, so it says nothing about stories, files or addresses.
pub(crate) async fn ready(State(app): State<App>) -> Response {
    let asked = tokio::time::timeout(READY_WITHIN, app.store.revision(&app.tenant)).await;
    let store = matches!(asked, Ok(Ok(_)));
    let (waiting, low) = (app.turns.waiting.count(), app.turns.waiting.is_space_low());
    let is_ready = store && waiting == 0;
    let body = json!({
        "status": if is_ready { "ready" } else { "not_ready" },
        "store": if store { "ok" } else { "failing" },
        "turns_waiting": waiting,
        "disk": if low { "low" } else { "ok" },
    });
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, [(CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

/// The page's style.
pub(crate) async fn style() -> Response {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("style.css")).into_response()
}

/// The last turn for scripts.
pub(crate) async fn last_turn_json(State(app): State<App>) -> Response {
    match app.last_turn().await {
        Ok(Some(last)) => Json(last).into_response(),
        Ok(None) => (StatusCode::NOT_FOUND, Json(json!({ "error": "there is no turn yet" })))
            .into_response(),
        Err(error) => failed(&error.to_string()),
    }
}

/// The last turn for people.
pub(crate) async fn last_turn(State(app): State<App>) -> Response {
    let body = match app.last_turn().await {
        Ok(Some(last)) => page(&app, &last),
        Ok(None) => EMPTY.to_owned(),
        Err(error) => return failed(&error.to_string()),
    };
    let html = format!("{HEAD}{body}</main></body></html>");
    ([(CONTENT_SECURITY_POLICY, POLICY)], Html(html)).into_response()
}

fn failed(message: &str) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({ "error": message }))).into_response()
}

const HEAD: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Loreloom</title>\
<link rel=\"stylesheet\" href=\"/style.css\"></head><body><header><h1>Loreloom</h1>\
<p>what the model got last, and why</p></header><main>";

const EMPTY: &str = "<section><h2>No turn yet</h2><p>Set your front end's API address to this \
server's <code>/v1</code> and send a message.</p></section>";

fn page(app: &App, last: &LastTurn) -> String {
    let report = &last.record.report;
    let budget = report.budgets.iter().map(|budget| {
        let full = if budget.overflowed { ", something did not fit" } else { "" };
        format!("<dt>Lore</dt><dd>{} of {} tokens{full}</dd>", budget.used, budget.limit)
    });
    let facts = format!(
        "<dl><dt>Chat</dt><dd>{}</dd><dt>Messages</dt><dd>{}</dd>{}<dt>Tokenizer</dt><dd>{}</dd></dl>",
        escape(last.chat.as_str()),
        report.facts.chat_length.0,
        budget.collect::<String>(),
        escape(&report.facts.tokenizer),
    );
    let reply = last.reply.as_deref().map_or_else(String::new, |text| {
        format!("<section><h2>Reply</h2><p class=\"story\">{}</p></section>", escape(text))
    });
    format!(
        "<section><h2>Turn {}</h2>{facts}</section>{}{}{reply}",
        last.turn.0,
        verdicts(app, &report.verdicts, report.untouched),
        prompt(last),
    )
}

fn prompt(last: &LastTurn) -> String {
    let messages = last.record.prompt.iter().enumerate().map(|(at, message)| {
        let spans: Vec<&Span> =
            last.record.report.spans.iter().filter(|span| span.message == at).collect();
        let name =
            message.name.as_deref().map_or(String::new(), |name| format!(" {}", escape(name)));
        let text = marked(&message.content, &spans);
        format!("<li class=\"{0}\"><b>{0}{name}</b><pre>{text}</pre></li>", message.role.as_str())
    });
    format!(
        "<section><h2>Prompt</h2><ol class=\"prompt\">{}</ol></section>",
        messages.collect::<String>()
    )
}

/// A message with its injected texts marked.
fn marked(text: &str, spans: &[&Span]) -> String {
    let mut out = String::new();
    let mut from = 0;
    for span in spans {
        let (Some(before), Some(inside)) =
            (text.get(from..span.start), text.get(span.start..span.end))
        else {
            break;
        };
        let source = match &span.source {
            Provenance::Lore { entry, .. } => entry.as_str(),
            Provenance::AuthorsNote => "author's note",
            Provenance::Memory(slot) => slot,
        };
        out.push_str(&escape(before));
        out.push_str(&format_mark(source, span.tokens.0, inside));
        from = span.end;
    }
    out.push_str(&escape(text.get(from..).unwrap_or_default()));
    out
}

fn format_mark(source: &str, tokens: u32, text: &str) -> String {
    format!("<mark title=\"{}, {tokens} tokens\">{}</mark>", escape(source), escape(text))
}

fn verdicts(app: &App, verdicts: &[Verdict], untouched: u32) -> String {
    let lore = app.lore.current();
    let names = |id: &EntryId| lore.library().title(id).unwrap_or(id.as_str()).to_owned();
    let rows = verdicts.iter().map(|verdict| {
        let (class, what) = match verdict.outcome {
            Outcome::Activated { .. } => ("in", "woven in"),
            Outcome::Stopped(_) if verdict.lingers() => ("in", "still there"),
            Outcome::Stopped(_) => ("out", "left out"),
        };
        format!(
            "<tr class=\"{class}\"><td>{}</td><td>{what}</td><td>{}</td></tr>",
            escape(&verdict.title),
            escape(&words::sentence(verdict, &names)),
        )
    });
    format!(
        "<section><h2>Why</h2><table><thead><tr><th>Entry</th><th>Verdict</th><th>Reason</th></tr></thead>\
         <tbody>{}</tbody></table><p>{untouched} further entries were not touched by any text.</p></section>",
        rows.collect::<String>()
    )
}

/// Text for HTML, in content and in quoted attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lore_is_text_and_never_markup() {
        assert_eq!(
            format_mark("a\"onload=x", 3, "<script>alert('&')</script>"),
            "<mark title=\"a&quot;onload=x, 3 tokens\">&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;</mark>"
        );
    }
}
