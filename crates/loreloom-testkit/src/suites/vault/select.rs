//! Cases about the selecting model, several vaults, and what is odd about one.

use loreloom_core::dialects::vault::{
    Conflict, FieldDefinition, Issue, IssueKind, ManifestStyle, ManifestWords, Note, SummaryMode,
    VaultState, changes, cluster, cluster_manifest, duplicates, inspect, join, manifest,
    normalise_strictly, parse_reply, similar_title,
};
use serde_json::{Map, Value, json};

use super::input::{Quarters, fields, is_2_5, notes, rules, text, texts};

/// DeepLore's sentences.
fn words() -> ManifestWords {
    ManifestWords {
        stale: "[STALE — consider refreshing]".to_owned(),
        frequent: "[FREQUENT — consider diversifying]".to_owned(),
        candidates: "Candidate entries: {n} (from {total} total).".to_owned(),
        forced: "{n} entries are always included (~{tokens} tokens).".to_owned(),
        budget: "Token budget: ~{tokens} tokens total.".to_owned(),
    }
}

pub(super) fn manifest_of(input: &Value) -> Value {
    let settings = &input["settings"];
    let counters = |key: &str| {
        let map = input[key].as_object().into_iter().flatten();
        let count = |value: &Value| u32::try_from(value.as_u64()?).ok();
        map.filter_map(|(id, value)| Some((id.as_str().into(), count(value)?))).collect()
    };
    let state = VaultState {
        staleness: counters("decay"),
        streak: counters("streak"),
        ..VaultState::default()
    };
    let fields: Vec<FieldDefinition> = fields(input);
    let words = words();
    let style = ManifestStyle {
        mode: match settings["manifestSummaryMode"].as_str() {
            Some("summary_only") => SummaryMode::SummaryOnly,
            Some("content_only") => SummaryMode::ContentOnly,
            Some(_) | None => SummaryMode::PreferSummary,
        },
        longest: settings["aiSearchManifestSummaryLength"]
            .as_u64()
            .and_then(|length| usize::try_from(length).ok())
            // A length of 0 means that it is not set.
            .filter(|length| *length > 0)
            .unwrap_or(600),
        fields: &fields,
        words: &words,
        show_carried: !is_2_5(input),
        count_left_out_as_forced: true,
    };
    let bootstrapping = input["bootstrapActive"] == Value::Bool(true);
    let notes = notes(&input["entries"]);
    let made = manifest(&notes, bootstrapping, &state, &rules(input), style);
    json!({ "manifest": made.text, "header": made.header })
}

pub(super) fn reply(input: &Value) -> Value {
    let parsed = parse_reply(&text(&input["text"]));
    let normalised: Option<Vec<Value>> = parsed.as_deref().map(|list| {
        let choices = normalise_strictly(list, "AI search").into_iter();
        choices
            .map(|choice| {
                json!({
                    "title": choice.title,
                    "confidence": choice.confidence.as_str(),
                    "reason": choice.reason,
                })
            })
            .collect()
    });
    json!({ "parsed": parsed, "normalized": normalised })
}

pub(super) fn title(input: &Value) -> Value {
    let candidates = texts(&input["candidates"]);
    match similar_title(&text(&input["title"]), candidates.iter().map(String::as_str)) {
        Some((title, similarity)) => {
            json!({ "title": title, "similarity": (similarity * 1e6).round() / 1e6 })
        }
        None => json!({ "title": null }),
    }
}

pub(super) fn clusters(input: &Value) -> Value {
    let notes = notes(&input["entries"]);
    let clusters = cluster(&notes);
    let titles =
        |notes: &[&Note]| -> Vec<String> { notes.iter().map(|note| note.title.clone()).collect() };
    let by_name: Map<String, Value> = clusters
        .iter()
        .map(|cluster| (cluster.name.clone(), titles(&cluster.notes).into()))
        .collect();
    json!({ "clusters": by_name, "manifest": cluster_manifest(&clusters) })
}

pub(super) fn vaults(input: &Value) -> Value {
    let notes = notes(&input["entries"]);
    let conflict = match input["mode"].as_str() {
        Some("first") => Conflict::First,
        Some("last") => Conflict::Last,
        Some("merge") => Conflict::Merge,
        Some(_) | None => Conflict::All,
    };
    let duplicates: Vec<Value> = duplicates(&notes)
        .into_iter()
        .map(|one| json!({ "title": one.title, "vaults": one.vaults }))
        .collect();
    let shown = |note: &Note| {
        json!({
            "title": note.title, "vault": note.vault, "keys": note.keys, "content": note.content,
            "tokens": note.tokens, "constant": note.kind.constant, "summary": note.summary,
            "tags": note.tags, "customFields": note.fields,
        })
    };
    let result: Vec<Value> = join(notes, conflict, &Quarters).iter().map(shown).collect();
    json!({ "duplicates": duplicates, "result": result })
}

pub(super) fn sync(input: &Value) -> Value {
    let after = notes(&input["after"]);
    // Before the first reading nothing can change.
    let before = if input["before"].is_null() { after.clone() } else { notes(&input["before"]) };
    let found = changes(&before, &after);
    json!({
        "added": found.added,
        "removed": found.removed,
        "modified": found.modified,
        "keysChanged": found.keys_changed,
        "hasChanges": !found.is_empty(),
    })
}

pub(super) fn health(input: &Value) -> Value {
    let issues = inspect(&notes(&input["entries"]), &rules(input));
    let shown = |issue: &Issue| {
        let kind = peer_name(&issue.kind)?;
        Some(if let IssueKind::ConstantsOverBudget { tokens, .. } = issue.kind {
            json!({ "type": kind, "tokens": tokens })
        } else {
            json!({ "type": kind, "entry": issue.title })
        })
    };
    json!({ "issues": issues.iter().filter_map(shown).collect::<Vec<Value>>() })
}

/// DeepLore's name for an issue; `None` if DeepLore does not look for it.
fn peer_name(kind: &IssueKind) -> Option<&'static str> {
    Some(match kind {
        IssueKind::CircularRequires { circle } if circle.len() == 2 => "circular_requires",
        IssueKind::RequiresAndExcludes { .. } => "requires_excludes_conflict",
        IssueKind::UnknownCascade { .. } => "orphaned_cascade",
        IssueKind::CooldownOnConstant => "cooldown_on_constant",
        IssueKind::DepthOutsideChat => "depth_without_inchat",
        IssueKind::EmptyContent => "empty_content",
        IssueKind::ProbabilityZero => "probability_zero",
        IssueKind::DuplicateTitle => "duplicate_title",
        IssueKind::ConstantsOverBudget { .. } => "constants_over_budget",
        IssueKind::CircularRequires { .. }
        | IssueKind::NoKeys
        | IssueKind::UnknownRequired { .. }
        | IssueKind::IdleRequires { .. }
        | IssueKind::UnknownExcluded { .. }
        | IssueKind::ExcludesItself
        | IssueKind::ExcludesConstant { .. }
        | IssueKind::Large { .. }
        | IssueKind::ShortKey { .. }
        | IssueKind::SharedKey { .. }
        | IssueKind::UnknownLinks { .. }
        | IssueKind::BootstrapWithoutKeys
        | IssueKind::LargeSeed { .. }
        | IssueKind::WarmupOnShortKeys
        | IssueKind::NeverScanned
        | IssueKind::NoSummary
        | IssueKind::UnsafeText { .. }
        | IssueKind::ScanDepthZero
        | IssueKind::ExcludesBootstrap { .. }
        | IssueKind::RecursionWithoutKeys
        | IssueKind::NoSelector
        | IssueKind::ReadEveryTurn { .. }
        | IssueKind::Stale { .. }
        | IssueKind::NotRead { .. }
        | IssueKind::NoLore { .. }
        | IssueKind::NoKey { .. }
        | IssueKind::Unmet { .. }
        | IssueKind::SmallBudget { .. } => return None,
    })
}
