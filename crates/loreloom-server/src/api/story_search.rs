//! Finding words in all stories.

use axum::extract::State;
use loreloom_core::ids::{ChatId, PrefixHash};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    extract::{Json, Query},
    problem::Problem,
    routes::routes,
};
use crate::app::App;

routes! {
    GET "/search" => search,
}

/// The most places that are found.
const MOST: usize = 50;
/// How much of a message is shown around the words, in characters.
const AROUND: usize = 60;

/// What to look for.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct SearchParams {
    /// The words, whatever their case.
    #[cfg_attr(feature = "schema", param(min_length = 2))]
    q: String,
}

/// A message with the words.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct StoryHit {
    /// The chat.
    chat: ChatId,
    /// Its title.
    title: String,
    /// The message's node.
    node: PrefixHash,
    /// Who speaks.
    name: Option<String>,
    /// The words with what is around them.
    excerpt: String,
}

/// The messages with the words, those of the stories that changed last first.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct StoryHits {
    /// The messages.
    items: Vec<StoryHit>,
    /// Whether there may be more.
    more: bool,
}

/// Finds words in the messages of all stories, in all branches.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/search", tag = "chats", params(SearchParams),
    responses((status = 200, body = StoryHits))
))]
async fn search(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<SearchParams>,
) -> Result<Json<StoryHits>, Problem> {
    let wanted = params.q.trim().to_lowercase();
    if wanted.chars().count() < 2 {
        return Err(Problem::value("q", "must have at least 2 characters", params.q));
    }
    let mut chats = caller.chats(&app, false).await?;
    chats.sort_by_key(|one| std::cmp::Reverse(one.chat.updated));
    let mut items = Vec::new();
    for one in chats {
        for node in app.store.tree(&caller.tenant, &one.chat.id).await? {
            let Some(excerpt) = excerpt(&node.message.text, &wanted) else { continue };
            items.push(StoryHit {
                chat: one.chat.id.clone(),
                title: one.chat.title.clone(),
                node: node.prefix,
                name: node.message.name,
                excerpt,
            });
            if items.len() == MOST {
                return Ok(Json(StoryHits { items, more: true }));
            }
        }
    }
    Ok(Json(StoryHits { items, more: false }))
}

/// The words with what is around them, and marks where the text goes on; `None` if the text does
/// not have them.
fn excerpt(text: &str, wanted: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let at = lower.find(wanted)?;
    // Lower case may have another length: characters are counted, not bytes.
    let place = lower[..at].chars().count();
    let start = place.saturating_sub(AROUND);
    let length = AROUND * 2 + wanted.chars().count();
    let mut rest = text.chars().skip(start);
    let shown: String = rest.by_ref().take(length).collect();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, after) = (start > 0, rest.next().is_some());
    Some(format!("{}{shown}{}", if before { "…" } else { "" }, if after { "…" } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whatever_their_case() {
        assert_eq!(excerpt("The Ferry\nleaks.", "ferry"), Some("The Ferry leaks.".to_owned()));
        assert_eq!(excerpt("The ferry", "boat"), None);
        let long = format!("{} FERRY {}", "a".repeat(200), "b".repeat(200));
        let found = excerpt(&long, "ferry").unwrap();
        assert!(found.starts_with('…') && found.contains("FERRY") && found.ends_with('…'));
        assert_eq!(found.chars().count(), AROUND * 2 + 5 + 2);
    }
}
