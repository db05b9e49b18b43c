//! Turns: what each decided, the exact prompt, and why.

use std::collections::BTreeMap;

use crate::past::{again::as_stored, stored::StoredChat};
use axum::extract::State;
use loreloom_core::{
    chat::Path as StoryPath,
    explain,
    ids::{BookId, ChatId, EntryId, PrefixHash},
    place::Provenance,
    prompt::PromptMessage,
    replay::{TurnChange, TurnLine, compare},
    report::{
        BudgetUse, KeptPlace, Outcome, RecalledMessage, Report, RoomUse, TurnFacts, Verdict,
        VerdictClass, Warning, words,
    },
    units::{Timestamp, Tokens},
};
use loreloom_formats::diff::{LineChange, line_changes};
use loreloom_memory::presence::characters;
use loreloom_ports::{StoreError, TurnId, TurnRecord, TurnSummary};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    extract::{Json, Path, Query},
    kept_prefix::KeptPrefix,
    paging::{self, Page, PageParams},
    problem::Problem,
    routes::routes,
    tags::Tagged,
    threads::{Thread, threads},
    turn_figures::Took,
};
use crate::{app::App, past_turns::LookedAt, prompt_map::PromptMap};

routes! {
    GET "/chats/{chat}/turns" => list,
    GET "/chats/{chat}/turns/{turn}" => one,
    GET "/chats/{chat}/turns/{turn}/prompt" => prompt,
    GET "/chats/{chat}/turns/{turn}/verdicts" => verdicts,
    GET "/chats/{chat}/turns/{turn}/proof/{entry}" => proof,
    GET "/chats/{chat}/turns/{turn}/diff/{other}" => diff,
    GET "/chats/{chat}/turns/{turn}/raw" => raw,
}

/// All turns of a chat, in order.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/turns", tag = "turns",
    params(("chat" = String, Path, description = "The chat's id"), PageParams),
    responses((status = 200, body = Page<TurnSummary>))
))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(chat): Path<String>,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<TurnSummary>>, Problem> {
    let chat = StoredChat::read(app.store.as_ref(), &caller.tenant, &chat.into()).await?;
    let key = |turn: &TurnSummary| turn.id.0;
    Ok(Json(paging::page(chat.turns, params.cursor.as_deref(), params.limit, key)?))
}

/// A turn.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct TurnView {
    /// The chat.
    chat: ChatId,
    /// Its line in the list of turns.
    turn: TurnSummary,
    /// What the decision was based on.
    facts: TurnFacts,
    /// What was woven in, carried on or cut.
    threads: Vec<Thread>,
    /// How the pools used their budgets.
    budgets: Vec<BudgetUse>,
    /// Things a person should know.
    warnings: Vec<Warning>,
    /// How the prompt fits into the model's context, where something had to give way.
    room: Option<RoomUse>,
    /// Old messages that memory put back into the prompt, and what found each.
    recalled: Vec<RecalledMessage>,
    /// Verdicts by class, of all entries.
    counts: Counts,
    /// Whether deciding it again gives the same bytes; `None` if its books or circumstances
    /// were not kept.
    reproduced: Option<bool>,
    /// What differs, in words.
    differences: Vec<String>,
    /// The reply, once it is there.
    reply: Option<String>,
    /// How long it took, where the server has not been started again since.
    took: Option<Took>,
    /// What its prompt kept of the one sent before; none if either is no longer stored.
    cache: Option<KeptPrefix>,
    /// Who speaks in the story so far: whose turn it could have been, as `speaker` of a preview.
    cast: Vec<String>,
}

/// Who speaks on a path, and who spoke at the turn.
fn cast(path: &StoryPath, report: &Report) -> Vec<String> {
    let mut names: Vec<String> = characters(path.items()).into_iter().map(str::to_owned).collect();
    names.extend(report.facts.speaker.clone().filter(|name| !names.contains(name)));
    names
}

/// Verdicts by class.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Counts {
    /// How many fired.
    woven: usize,
    /// How many did not fire, but are still in the prompt.
    lingering: usize,
    /// How many had no room.
    cut: usize,
    /// How many were nearly found.
    near: usize,
    /// How many a rule kept out.
    rule: usize,
    /// How many were not found.
    no_match: usize,
}

impl Counts {
    fn of<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> Self {
        let mut counts = Self::default();
        for verdict in verdicts {
            *match verdict.class() {
                VerdictClass::Woven => &mut counts.woven,
                VerdictClass::Lingering => &mut counts.lingering,
                VerdictClass::Cut => &mut counts.cut,
                VerdictClass::Near => &mut counts.near,
                VerdictClass::Rule => &mut counts.rule,
                VerdictClass::NoMatch => &mut counts.no_match,
            } += 1;
        }
        counts
    }
}

/// One turn with what it wove, what it cut and how many entries were left out.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/turns/{turn}", tag = "turns",
    params(("chat" = String, Path, description = "The chat's id"), ("turn" = u64, Path, description = "The turn's number")),
    responses((status = 200, body = TurnView))
))]
async fn one(
    State(app): State<App>,
    caller: Caller,
    Path((chat, turn)): Path<(String, u64)>,
) -> Result<Tagged<TurnView>, Problem> {
    let chat = ChatId(chat);
    let looked = app.past.look_at(&caller.tenant, &chat, TurnId(turn)).await?;
    let reply = match looked.summary.reply {
        Some(node) => app.store.path(&caller.tenant, &chat, node).await?.pop(),
        None => None,
    };
    let cache = KeptPrefix::of(&app, &caller, &chat, &looked).await?;
    let report = looked.report();
    let differences = looked.differences();
    let timings = app.figures.timings.of(&caller.tenant, &chat).into_iter();
    let view = TurnView {
        cast: cast(&looked.past.path, report),
        took: timings.rev().find(|(of, _)| of.0 == turn).map(|(_, timing)| Took::of(timing)),
        chat,
        turn: looked.summary.clone(),
        facts: report.facts.clone(),
        threads: threads(&looked.past.record, report, |id| is_note(&looked, id)),
        budgets: report.budgets.clone(),
        warnings: report.warnings.clone(),
        room: report.room.clone(),
        recalled: report.recalled.clone(),
        counts: Counts::of(looked.verdicts()),
        reproduced: differences.as_ref().map(Vec::is_empty),
        differences: differences.iter().flatten().map(ToString::to_string).collect(),
        reply: reply.map(|node| node.message.text.into()),
        cache,
    };
    Ok(Tagged { tag: tag(&looked), body: view })
}

fn is_note(looked: &LookedAt, id: &EntryId) -> bool {
    let vault = looked.books.as_ref().and_then(|books| books.library().vault());
    vault.is_some_and(|vault| vault.find(id).is_some())
}

/// A turn's answers change when it gets a reply, is taken back or is trimmed.
fn tag(looked: &LookedAt) -> String {
    let TurnSummary { id, reply, undone, trimmed, .. } = &looked.summary;
    let reply = reply.unwrap_or_default();
    format!("{}-{reply}-{}{}", id.0, u8::from(*undone), u8::from(*trimmed))
}

/// The exact prompt of a turn, with the place of every woven text in bytes and tokens.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/turns/{turn}/prompt", tag = "turns",
    params(("chat" = String, Path, description = "The chat's id"), ("turn" = u64, Path, description = "The turn's number")),
    responses((status = 200, body = PromptMap))
))]
async fn prompt(
    State(app): State<App>,
    caller: Caller,
    Path((chat, turn)): Path<(String, u64)>,
) -> Result<Tagged<PromptMap>, Problem> {
    let chat = ChatId(chat);
    let looked = app.past.look_at(&caller.tenant, &chat, TurnId(turn)).await?;
    let before = turn_before(&app, &caller, &chat, &looked.past.record).await?;
    let titles = |source: &Provenance| match source {
        Provenance::Lore { entry, .. } => looked.title(entry),
        Provenance::AuthorsNote => "authors_note".to_owned(),
        Provenance::Memory(slot) => slot.clone(),
    };
    let (prompt, spans) = (&looked.past.record.prompt, &looked.past.record.report.spans);
    let before = before.as_ref().map(|before| before.prompt.as_slice());
    let counter = app.connections.counter_of(looked.past.record.input.as_deref());
    let map = PromptMap::of(prompt, spans, before, titles, counter.as_ref());
    Ok(Tagged { tag: tag(&looked), body: map })
}

/// The turn that counts before another on its path.
async fn turn_before(
    app: &App,
    caller: &Caller,
    chat: &ChatId,
    record: &TurnRecord,
) -> Result<Option<TurnRecord>, StoreError> {
    let store = app.store.as_ref();
    let stored = StoredChat::up_to(store, &caller.tenant, chat, Some(record.at)).await?;
    let earlier = stored.nodes.iter().rev().map(|node| node.prefix);
    let mut earlier = earlier.filter(|prefix| *prefix != record.at).chain([PrefixHash::default()]);
    let Some(found) = earlier.find_map(|prefix| stored.turn_at(prefix)) else {
        return Ok(None);
    };
    stored.turn(store, &caller.tenant, found.id).await.map(Some)
}

/// What was decided about an entry.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct VerdictRow {
    /// The entry.
    entry: EntryId,
    /// Its book or vault.
    book: BookId,
    /// What people call it.
    title: String,
    /// The class.
    class: VerdictClass,
    /// The deciding rule: `activated` or the rule that stopped it.
    code: String,
    /// The decision with its parameters.
    outcome: Outcome,
    /// The decision in English.
    sentence: String,
    /// The tokens of its text, if it is in the prompt.
    tokens: Option<Tokens>,
    /// Where its text is kept for the prompt cache.
    kept_place: Option<KeptPlace>,
}

impl VerdictRow {
    fn of(verdict: &Verdict, looked: &LookedAt) -> Self {
        let names = |id: &EntryId| looked.title(id);
        Self {
            entry: verdict.entry.clone(),
            book: verdict.book.clone(),
            title: verdict.title.clone(),
            class: verdict.class(),
            code: verdict.code().to_owned(),
            outcome: verdict.outcome.clone(),
            sentence: words::sentence(verdict, &names),
            tokens: verdict.tokens(),
            kept_place: verdict.kept_place.as_deref().cloned(),
        }
    }
}

/// Verdicts of a turn.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct VerdictsView {
    /// Verdicts by class, of all entries that fit `q`.
    counts: Counts,
    /// The rows, those that came nearest to firing first and those that fired last.
    #[serde(flatten)]
    page: Page<VerdictRow>,
}

/// Which verdicts.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "schema", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
struct VerdictsParams {
    /// Classes, separated by commas: `woven`, `lingering`, `cut`, `near`, `rule`, `no_match`;
    /// all without it.
    #[cfg_attr(
        feature = "schema",
        param(
            pattern = "^(woven|lingering|cut|near|rule|no_match)(,(woven|lingering|cut|near|rule|no_match))*$"
        )
    )]
    v: Option<String>,
    /// Only entries whose title, id or deciding rule contains this, whatever its case.
    q: Option<String>,
    /// Where the page before ended: its `next`.
    cursor: Option<String>,
    /// The most items; 50 without it.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 500))]
    limit: Option<usize>,
    /// Counts alone, no rows.
    #[serde(default)]
    counts_only: bool,
}

fn classes(list: &str) -> Result<Vec<VerdictClass>, Problem> {
    let named = |name: &str| VerdictClass::ALL.into_iter().find(|class| class.as_str() == name);
    let rule = "must name `woven`, `lingering`, `cut`, `near`, `rule` or `no_match`";
    let class = |name: &str| named(name).ok_or_else(|| Problem::value("v", rule, name));
    list.split(',').map(class).collect()
}

/// The verdicts of a turn over all entries, by class.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/turns/{turn}/verdicts", tag = "turns",
    params(("chat" = String, Path, description = "The chat's id"), ("turn" = u64, Path, description = "The turn's number"), VerdictsParams),
    responses((status = 200, body = VerdictsView))
))]
async fn verdicts(
    State(app): State<App>,
    caller: Caller,
    Path((chat, turn)): Path<(String, u64)>,
    Query(params): Query<VerdictsParams>,
) -> Result<Tagged<VerdictsView>, Problem> {
    let looked = app.past.look_at(&caller.tenant, &chat.into(), TurnId(turn)).await?;
    let wanted = params.v.as_deref().map(classes).transpose()?;
    let text = params.q.as_deref().map(str::to_lowercase);
    let fits = |verdict: &&Verdict| {
        text.as_ref().is_none_or(|text| {
            let texts = [verdict.title.as_str(), verdict.entry.as_str(), verdict.code()];
            texts.iter().any(|one| one.to_lowercase().contains(text))
        })
    };
    let fitting: Vec<&Verdict> = looked.verdicts().iter().filter(fits).collect();
    let counts = Counts::of(fitting.iter().copied());
    let mut rows = fitting;
    rows.retain(|one| wanted.as_ref().is_none_or(|wanted| wanted.contains(&one.class())));
    if params.counts_only {
        let page = Page { items: Vec::new(), total: rows.len(), next: None };
        return Ok(Tagged { tag: tag(&looked), body: VerdictsView { counts, page } });
    }
    rows.sort_by_cached_key(|verdict| order(verdict));
    let page = paging::page(rows, params.cursor.as_deref(), params.limit, |one| order(one))?;
    let page = page.map(|verdict| VerdictRow::of(verdict, &looked));
    Ok(Tagged { tag: tag(&looked), body: VerdictsView { counts, page } })
}

/// Nearest to firing first; what is in the prompt comes last.
fn order(verdict: &Verdict) -> (u8, u8, String, String) {
    let there = match verdict.class() {
        VerdictClass::Woven => 2,
        VerdictClass::Lingering => 1,
        VerdictClass::Cut | VerdictClass::Near | VerdictClass::Rule | VerdictClass::NoMatch => 0,
    };
    let far = u8::MAX - verdict.nearness();
    (there, far, verdict.title.clone(), verdict.entry.0.clone())
}

/// Why an entry fired or did not.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct Proof {
    /// The verdict.
    #[serde(flatten)]
    verdict: VerdictRow,
    /// The verdict in English with all it took: down to what was said.
    chain: String,
    /// The smallest change with which it fires. The turn was run again with it, and it did.
    fix: Option<FixView>,
    /// Its text in the prompt.
    text: Option<String>,
    /// The ranges of that text in the prompt.
    spans: Vec<ProofSpan>,
}

/// Changes that make an entry fire.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct FixView {
    /// What to change, in order.
    changes: Vec<explain::FixChange>,
    /// The same in English.
    words: Vec<String>,
}

/// The range of a text.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ProofSpan {
    /// The message of the prompt, counted from 0.
    message: usize,
    /// First byte inside that message's text.
    start: usize,
    /// One past the last byte.
    end: usize,
}

/// The proof of one entry at a turn, with the smallest change that makes it fire.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/turns/{turn}/proof/{entry}", tag = "turns",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("turn" = u64, Path, description = "The turn's number"),
        ("entry" = String, Path, description = "The entry's id, its slash written as %2F")
    ),
    responses((status = 200, body = Proof))
))]
async fn proof(
    State(app): State<App>,
    caller: Caller,
    Path((chat, turn, entry)): Path<(String, u64, String)>,
) -> Result<Tagged<Proof>, Problem> {
    let looked = app.past.look_at(&caller.tenant, &chat.into(), TurnId(turn)).await?;
    let entry = EntryId(entry);
    let found = looked.verdicts().iter().find(|verdict| verdict.entry == entry);
    let verdict = found.ok_or_else(|| Problem::missing("entry", entry.as_str()))?;
    let names = |id: &EntryId| looked.title(id);
    let is_it =
        |source: &Provenance| matches!(source, Provenance::Lore { entry: of, .. } if *of == entry);
    let record = &looked.past.record;
    let woven = record.injections.iter().find(|one| is_it(&one.source));
    let spans = record.report.spans.iter().filter(|span| is_it(&span.source));
    // What lingers was woven at an earlier turn.
    let lingering = spans.clone().next().and_then(|span| {
        let text = record.prompt.get(span.message)?.content.get(span.start..span.end)?;
        Some(text.to_owned())
    });
    let text = woven.map(|one| one.text.clone()).or(lingering);
    let spans =
        spans.map(|span| ProofSpan { message: span.message, start: span.start, end: span.end });
    let mut proof = Proof {
        verdict: VerdictRow::of(verdict, &looked),
        chain: words::chain(verdict, looked.verdicts(), &names),
        fix: None,
        text,
        spans: spans.collect(),
    };
    if proof.verdict.class != VerdictClass::Woven {
        let fix = app.past.explain(std::sync::Arc::clone(&looked), entry).await;
        proof.fix = fix.map(|fix| FixView {
            words: fix.changes.iter().map(explain::words).collect(),
            changes: fix.changes,
        });
    }
    Ok(Tagged { tag: tag(&looked), body: proof })
}

/// What two turns did differently.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct TurnsDiff {
    /// The turn that is compared.
    from: TurnId,
    /// The turn it is compared with.
    to: TurnId,
    /// Which texts came, went or changed; `None` if they wove the same.
    lore: Option<TurnChange>,
    /// What changed in the prompt, as lines.
    prompt: Vec<LineChange>,
    /// What the second prompt shares with the first.
    unchanged_messages: usize,
}

/// The difference between two turns of a chat: texts and prompt.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/turns/{turn}/diff/{other}", tag = "turns",
    params(
        ("chat" = String, Path, description = "The chat's id"),
        ("turn" = u64, Path, description = "The turn's number"),
        ("other" = u64, Path, description = "The number of the turn it is compared with")
    ),
    responses((status = 200, body = TurnsDiff))
))]
async fn diff(
    State(app): State<App>,
    caller: Caller,
    Path((chat, turn, other)): Path<(String, u64, u64)>,
) -> Result<Json<TurnsDiff>, Problem> {
    let chat = ChatId(chat);
    let (from, to) = (TurnId(turn), TurnId(other));
    let first = app.past.look_at(&caller.tenant, &chat, from).await?;
    let second = app.past.look_at(&caller.tenant, &chat, to).await?;
    let (old, new) = (&first.past.record, &second.past.record);
    let lines = |record: &TurnRecord| [TurnLine::of(0, &as_stored(record))];
    let shared = old.prompt.iter().zip(&new.prompt).take_while(|(old, new)| old == new).count();
    let (old_text, new_text) = (prompt_text(&old.prompt), prompt_text(&new.prompt));
    Ok(Json(TurnsDiff {
        from,
        to,
        lore: compare(&lines(old), &lines(new)).pop(),
        prompt: line_changes(&old_text, &new_text),
        unchanged_messages: shared,
    }))
}

/// A prompt as lines, to be compared.
pub(super) fn prompt_text(prompt: &[PromptMessage]) -> String {
    let texts = prompt.iter().map(|one| format!("[{}]\n{}", one.role.as_str(), one.content));
    texts.collect::<Vec<_>>().join("\n")
}

/// A turn as it is stored.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RawTurn {
    /// Its line in the list of turns.
    turn: TurnSummary,
    /// When it was stored.
    created: Timestamp,
    /// Everything it decided and was given: the form of an exported chat's turns.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    record: BTreeMap<String, serde_json::Value>,
}

/// Everything that is stored of a turn.
#[cfg_attr(feature = "schema", utoipa::path(
    get, path = "/chats/{chat}/turns/{turn}/raw", tag = "turns",
    params(("chat" = String, Path, description = "The chat's id"), ("turn" = u64, Path, description = "The turn's number")),
    responses((status = 200, body = RawTurn))
))]
async fn raw(
    State(app): State<App>,
    caller: Caller,
    Path((chat, turn)): Path<(String, u64)>,
) -> Result<Tagged<RawTurn>, Problem> {
    let looked = app.past.look_at(&caller.tenant, &chat.into(), TurnId(turn)).await?;
    let record = serde_json::to_value(&looked.past.record).unwrap_or_default();
    let record = record.as_object().cloned().unwrap_or_default().into_iter().collect();
    let created = looked.summary.created;
    Ok(Tagged {
        tag: tag(&looked),
        body: RawTurn { turn: looked.summary.clone(), created, record },
    })
}
