//! One check whether the scene ended.

use loreloom_core::chat::{PathItem, Role};

use super::{
    SceneSign, break_prompt, cast_changed, is_break, parse_break, scene_sign, summary_prompt,
};
use crate::{
    pass::{Need, Script},
    record::{Entity, Scene},
    reply::prose,
    text::{TextRules, head, tail},
    tiers::Config,
    window::lines,
};

/// What a scene pass works on.
#[derive(Clone, Debug)]
pub struct ScenesInput<'pass> {
    /// Settings, rules and model.
    pub config: Config<'pass>,
    /// The scene so far.
    pub buffer: &'pass [PathItem],
    /// The newest exchange.
    pub text: &'pass str,
    /// The reply before it.
    pub previous_reply: &'pass str,
    /// Past scenes.
    pub history: &'pass [Scene],
    /// Known people, to see whether others are present now.
    pub entities: &'pass [&'pass Entity],
    /// The time.
    pub now: i64,
}

/// The result of a scene pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScenesOutcome {
    /// Whether a scene ended and was stored.
    pub ended: bool,
    /// Past scenes.
    pub history: Vec<Scene>,
    /// Scenes that newer ones replaced, without their summaries.
    pub older: Vec<Scene>,
}

/// How many scenes a new one is compared with.
const COMPARED: usize = 3;

/// Runs a pass. A scene whose summary repeats the last scene continues that scene.
pub fn run(input: &ScenesInput<'_>, script: &mut Script<'_>) -> Result<ScenesOutcome, Need> {
    let stays = || ScenesOutcome { history: input.history.to_vec(), ..ScenesOutcome::default() };
    let length = input.buffer.iter().filter(|item| item.message.role != Role::System).count();
    if length < input.config.settings.scene_min_messages || !has_ended(input, script)? {
        return Ok(stays());
    }
    let text = scene_text(input);
    let rules = input.config.rules.text;
    let summary = script.ask_for(summary_prompt(&text), rules, |reply| prose(reply, rules))?;
    let Some(summary) = summary else { return Ok(stays()) };
    let recent = &input.history[input.history.len().saturating_sub(COMPARED)..];
    let texts = recent.iter().map(|scene| scene.summary.as_str());
    let vectors = script.vectors(texts.chain([summary]))?;
    let repeats = |scene: &Scene| vectors.likeness(summary, &scene.summary).reaches(0.82, 0.55);
    if !input.config.rules.repeated_scene_ends && recent.iter().any(repeats) {
        return Ok(stays());
    }
    let mut history = input.history.to_vec();
    if let Some(last) = history.last_mut().filter(|last| repeats(last)) {
        last.receipts.extend(input.buffer.iter().map(|item| item.id));
        return Ok(ScenesOutcome { ended: true, history, older: Vec::new() });
    }
    history.push(Scene {
        summary: summary.to_owned(),
        ts: Some(input.now),
        source_memory_ids: Vec::new(),
        receipts: input.buffer.iter().map(|item| item.id).collect(),
    });
    let excess = history.len().saturating_sub(input.config.settings.scene_max_history);
    let older = history.drain(..excess).map(Scene::without_summary);
    let older = older.filter(Scene::has_no_summary).collect();
    Ok(ScenesOutcome { ended: true, history, older })
}

/// Asks the model if that is set or if the text is doubtful; otherwise checks words and people.
fn has_ended(input: &ScenesInput<'_>, script: &mut Script<'_>) -> Result<bool, Need> {
    let rules = &input.config.rules;
    let sign = match rules.text {
        TextRules::Literal if is_break(input.text) => SceneSign::Clear,
        TextRules::Literal => SceneSign::Absent,
        TextRules::Tolerant => scene_sign(input.text),
    };
    let cast = || rules.cast_change_ends_scene && cast_changed(input.buffer, input.entities);
    let asks = input.config.settings.scene_ai_detect;
    if !asks && (sign == SceneSign::Clear || cast()) {
        return Ok(true);
    }
    if !asks && sign == SceneSign::Absent {
        return Ok(false);
    }
    let reply = script.ask(break_prompt(input.text, input.previous_reply))?;
    Ok(reply.is_some_and(parse_break))
}

/// The scene's text. If it is too long, its beginning and its end.
fn scene_text(input: &ScenesInput<'_>) -> String {
    let limit = input.config.rules.scene_text_limit;
    let text = lines(input.buffer);
    if text.chars().count() <= limit {
        return text;
    }
    let half = limit / 2;
    format!("{}\n[…]\n{}", head(&text, half), tail(&text, half))
}
