//! How lore hangs together.

use std::collections::BTreeSet;

use axum::extract::State;
use loreloom_core::{
    ids::{ChatId, EntryId},
    report::VerdictClass,
};
use loreloom_memory::service::{MemoryView, Who};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    extract::{Json, Query},
    memory::items,
    problem::{Code, Problem},
    routes::routes,
};
use crate::{
    app::App,
    catalog,
    graph::{Edge, Graph, GraphNode, GraphPart, Layer},
};

routes! {
    GET "/graph" => graph,
}

/// Turns that are looked at for what fires together.
const MOST_TURNS: usize = 300;

/// Which part of the graph.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct GraphParams {
    /// The node to look around; without it those with the most ties.
    focus: Option<String>,
    /// How many steps away from it; 2 without it.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 4))]
    depth: Option<usize>,
    /// The layers, with commas between them: `link`, `mention`, `rule`, `together`, `entity`;
    /// all without it.
    layers: Option<String>,
    /// The chat whose turns and memory are looked at. Without it all turns, and no memory.
    chat: Option<String>,
    /// The character whose memory is looked at too.
    who: Option<String>,
    /// The most nodes; 200 without it.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 1000))]
    limit: Option<usize>,
}

/// A part of the graph.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct GraphView {
    /// The things, near ones and those with many ties first.
    nodes: Vec<GraphNode>,
    /// What ties them.
    edges: Vec<Edge>,
    /// How many things there are in all.
    total: usize,
    /// How many turns were looked at for what fires together.
    turns: usize,
    /// Names that memory knows and no entry is about.
    gaps: Vec<String>,
}

fn between(value: Option<usize>, usual: usize, most: usize, field: &str) -> Result<usize, Problem> {
    match value {
        Some(found) if !(1..=most).contains(&found) => {
            Err(Problem::value(field, &format!("must be from 1 to {most}"), found))
        }
        found => Ok(found.unwrap_or(usual)),
    }
}

fn layers(wanted: Option<&str>) -> Result<BTreeSet<Layer>, Problem> {
    let Some(wanted) = wanted else { return Ok(Layer::ALL.into_iter().collect()) };
    let rule = "must be `link`, `mention`, `rule`, `together` or `entity`, with commas between";
    let named = wanted.split(',').map(str::trim).filter(|name| !name.is_empty());
    named
        .map(|name| Layer::named(name).ok_or_else(|| Problem::value("layers", rule, name)))
        .collect()
}

/// How lore hangs together: links, mentions, rules, what fires together, and what memory ties.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/graph", tag = "entries", params(GraphParams),
    responses((status = 200, body = GraphView))
))]
async fn graph(
    State(app): State<App>,
    caller: Caller,
    Query(params): Query<GraphParams>,
) -> Result<Json<GraphView>, Problem> {
    let layers = layers(params.layers.as_deref())?;
    let depth = between(params.depth, 2, 4, "depth")?;
    let limit = between(params.limit, 200, 1000, "limit")?;
    let chat = params.chat.map(ChatId);
    app.sync.take_up().await?;
    let woven = if layers.contains(&Layer::Together) {
        woven(&app, &caller, chat.as_ref()).await?
    } else {
        Vec::new()
    };
    let remembered = match &chat {
        Some(chat) if layers.contains(&Layer::Entity) => {
            remembered(&app, &caller, chat, params.who.as_deref()).await?
        }
        Some(_) | None => None,
    };
    let firings = app.api.firings.count(app.store.as_ref(), &caller.tenant).await?;
    let (lore, turns, focus) = (app.lore.current(), woven.len(), params.focus);
    let working = tokio::task::spawn_blocking(move || {
        let rows = catalog::rows(&lore);
        let mut graph = Graph::of(&rows, |id| firings.get(id).copied().unwrap_or_default());
        for layer in layers {
            match layer {
                Layer::Link => graph.tie_links(&rows),
                Layer::Rule => graph.tie_rules(&rows),
                Layer::Mention => graph.tie_mentions(&rows, lore.rules()),
                Layer::Together => woven.iter().for_each(|turn| graph.tie_together(&rows, turn)),
                Layer::Entity => {}
            }
        }
        let gaps = remembered.map(|view| {
            let own = view.character.entities.iter();
            let entities: Vec<_> = own.chain(&view.chat.session_entities).collect();
            graph.tie_entities(&rows, &entities, &view.character.relationship_history)
        });
        if let Some(missing) = focus.as_deref().filter(|id| !graph.has(id)) {
            return Err(Problem::missing("node", missing).at("focus"));
        }
        let total = graph.len();
        let GraphPart { nodes, edges } = graph.view(focus.as_deref(), depth, limit);
        Ok(GraphView { nodes, edges, total, turns, gaps: gaps.unwrap_or_default() })
    });
    let failed = |error: tokio::task::JoinError| Problem::new(Code::Failed, error.to_string());
    working.await.map_err(failed)?.map(Json)
}

/// What was woven in at the newest turns of a chat, or of all.
async fn woven(
    app: &App,
    caller: &Caller,
    chat: Option<&ChatId>,
) -> Result<Vec<Vec<EntryId>>, Problem> {
    let chats = if let Some(chat) = chat {
        vec![caller.chat(app, chat).await?.id]
    } else {
        let mut all = caller.chats(app, false).await?;
        all.sort_by_key(|one| std::cmp::Reverse(one.chat.updated));
        all.into_iter().map(|one| one.chat.id).collect()
    };
    let mut woven = Vec::new();
    for chat in chats {
        for turn in app.store.turns(&caller.tenant, &chat).await?.into_iter().rev() {
            if woven.len() == MOST_TURNS {
                return Ok(woven);
            }
            if turn.undone {
                continue;
            }
            if let Some(record) = app.store.turn(&caller.tenant, &chat, turn.id).await? {
                let verdicts = record.report.verdicts.into_iter();
                let fired = verdicts.filter(|verdict| verdict.class() == VerdictClass::Woven);
                woven.push(fired.map(|verdict| verdict.entry).collect());
            }
        }
    }
    Ok(woven)
}

/// What is remembered where a chat is; none where memory is switched off.
async fn remembered(
    app: &App,
    caller: &Caller,
    chat: &ChatId,
    who: Option<&str>,
) -> Result<Option<MemoryView>, Problem> {
    let Some(memory) = app.memory.as_deref() else { return Ok(None) };
    let path = items(app, caller, chat, None).await?;
    let who = who.map(Who::named).unwrap_or_default();
    Ok(Some(memory.views.view(&caller.tenant, chat, &path, &who).await?))
}
