//! Arcs: which are open, which ended, and how.

use std::sync::LazyLock;

use regex::Regex;

use super::{Config, GUARD, PassSource, bullets, contents, lines::for_each_tagged, part, prompt};
use crate::{
    pass::{ModelQuestion, Need, Purpose, Script},
    record::{ArcSummary, Memory, Scene, StoryArc},
    reply::{is_none, prose},
    rules::Rules,
    similarity::Vectors,
    text::{jaccard, pattern, units},
};
use loreloom_ports::MemoryId;

static LINE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?im)^\[(arc|resolved)\](\s+)(.+)$"));
static LOOSE_LINE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?im)^\[\s*(arc|resolved)\b[^\]]*\](:?\s*)(.+)$"));

/// An arc must be longer than this.
const SHORTEST: usize = 15;
/// From this overlap on, a closing line is about an arc.
const CLOSES: f64 = 0.25;
/// From this overlap on, two arcs are the same.
const SAME_WORDS: f64 = 0.40;
/// From this cosine on, two arcs are the same.
const SAME_COSINE: f64 = 0.82;

/// What a reply changes about arcs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArcsReply {
    /// New arcs.
    pub add: Vec<String>,
    /// Indexes of arcs that ended, in the order of the reply, each once.
    pub resolve: Vec<usize>,
}

/// Asks about arcs.
pub fn prompt_for(source: &PassSource<'_>, open: &[&str], ended: &[&str]) -> ModelQuestion {
    let (people, _, story) = source.shown();
    let task = "Find threads of this story that are new: promises, questions, dangers and goals \
                that will need an answer. Give at most five, one line each:\n\
                [arc] one sentence naming who and what\n\
                Example: [arc] Hanna promised Ruben to find the stolen bell before winter.\n\
                For each open thread that this part of the story brought to an end:\n\
                [resolved] the thread in its own words\n\
                Do not repeat a thread that is open or ended already. A detail of the scene is \
                no thread. If there is nothing to report, answer NONE.";
    let open = part("Open threads", &bullets(open.iter().copied()));
    let ended = part("Ended threads", &bullets(ended.iter().copied()));
    ModelQuestion {
        purpose: Purpose::Arcs,
        prompt: prompt(&[GUARD, task, &people, &open, &ended, &story]),
        max_tokens: 400,
    }
}

/// Reads a reply. One closing line may close several of the `open` arcs.
pub fn parse(reply: &str, open: &[&str], rules: &Rules) -> ArcsReply {
    let mut change = ArcsReply::default();
    if is_none(reply, rules.text) {
        return change;
    }
    let line = rules.text.choose(&LOOSE_LINE, &LINE);
    for_each_tagged(reply, line, rules, |parts| {
        let text = &parts[3];
        if !parts[1].eq_ignore_ascii_case("arc") {
            let closed = |at: &usize| jaccard(text, open[*at]) >= CLOSES;
            change.resolve.extend((0..open.len()).filter(closed));
        } else if units(text.trim()) > SHORTEST {
            change.add.push(text.trim().to_owned());
        }
    });
    let mut seen = vec![false; open.len()];
    change.resolve.retain(|at| !std::mem::replace(&mut seen[*at], true));
    change
}

/// Whether a reply has a line of the form asked for, even if it says nothing new.
fn has_tag(reply: &str, rules: &Rules) -> bool {
    let mut found = false;
    for_each_tagged(reply, rules.text.choose(&LOOSE_LINE, &LINE), rules, |_| found = true);
    found
}

/// What an arcs pass works on.
#[derive(Clone, Debug)]
pub struct ArcsInput<'pass> {
    /// Settings, rules and model.
    pub config: Config<'pass>,
    /// What it reads.
    pub source: PassSource<'pass>,
    /// The chat's arcs.
    pub arcs: &'pass [StoryArc],
    /// The character's or group's pinned arcs.
    pub persistent: &'pass [StoryArc],
    /// Active session memories.
    pub session: &'pass [&'pass Memory],
    /// Past scenes.
    pub scenes: &'pass [Scene],
    /// How earlier arcs ended.
    pub ended: &'pass [ArcSummary],
}

/// The result of an arcs pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArcsOutcome {
    /// How many arcs are new.
    pub added: usize,
    /// The chat's arcs.
    pub arcs: Vec<StoryArc>,
    /// How arcs ended.
    pub summaries: Vec<ArcSummary>,
    /// Pinned arcs.
    pub persistent: Vec<StoryArc>,
}

/// Runs a pass.
pub fn run(input: &ArcsInput<'_>, script: &mut Script<'_>) -> Result<ArcsOutcome, Need> {
    if input.source.messages().is_empty() {
        return Ok(ArcsOutcome {
            arcs: input.arcs.to_vec(),
            persistent: input.persistent.to_vec(),
            ..ArcsOutcome::default()
        });
    }
    let open: Vec<&StoryArc> = input.arcs.iter().filter(|arc| !arc.resolved).collect();
    let open_texts: Vec<&str> = open.iter().map(|arc| arc.content.as_str()).collect();
    let rules = input.config.rules;
    let ended = ended(input.arcs, input.ended);
    let change = asked(input, &open_texts, &ended, script)?;
    let session = input.session.iter().map(|memory| memory.content.as_str());
    let compared = change.add.iter().map(String::as_str).chain(open_texts.iter().copied());
    let vectors = script.vectors(compared.chain(session))?;
    let closed: Vec<&str> = change.resolve.iter().map(|at| open_texts[*at]).collect();
    // An arc that just ended may start again, so it does not count as known.
    let mut going = open_texts.clone();
    going.retain(|text| !closed.contains(text));
    let hiding = if rules.notes_hide_threads { input.session } else { &[] };
    let new = novel(&change.add, &going, hiding, vectors);

    let mut outcome = ArcsOutcome {
        added: new.len(),
        persistent: input.persistent.to_vec(),
        ..ArcsOutcome::default()
    };
    for arc in &closed {
        if let Some(summary) = summarise(arc, input, script)? {
            outcome.summaries.push(summary);
        }
    }
    let is_closed = |arc: &StoryArc| closed.contains(&arc.content.as_str());
    let mut ended: Vec<StoryArc> = Vec::new();
    for arc in input.arcs {
        if arc.resolved {
            ended.push(arc.clone());
        } else if !is_closed(arc) {
            outcome.arcs.push(arc.clone());
        } else if arc.persistent {
            ended.push(StoryArc { resolved: true, ..arc.clone() });
        }
    }
    for pinned in outcome.persistent.iter_mut().filter(|pinned| is_closed(pinned)) {
        pinned.resolved = true;
    }
    let now = Some(input.source.now);
    outcome.arcs.extend(new.into_iter().map(|content| StoryArc {
        receipts: input.source.support(&content),
        content,
        ts: now,
        ..StoryArc::default()
    }));
    keep_newest(&mut outcome.arcs, input.config.settings.arcs_max);
    outcome.arcs.append(&mut ended);
    Ok(outcome)
}

/// What the model says about arcs, with the names of the story's people. An arc that ended before
/// is not new.
fn asked(
    input: &ArcsInput<'_>,
    open: &[&str],
    ended: &[&str],
    script: &mut Script<'_>,
) -> Result<ArcsReply, Need> {
    let rules = input.config.rules;
    let change = script.ask_for(prompt_for(&input.source, open, ended), rules.text, |reply| {
        has_tag(reply, rules).then(|| parse(reply, open, rules))
    })?;
    let mut change = change.unwrap_or_default();
    if rules.text.is_tolerant() {
        let cast = input.source.cast();
        change.add = change.add.iter().map(|text| cast.named(text)).collect();
        let is_over = |text: &String| ended.iter().any(|old| jaccard(old, text) >= SAME_WORDS);
        change.add.retain(|text| !is_over(text));
    }
    Ok(change)
}

/// The threads that ended last, oldest first.
pub(crate) fn ended<'pass>(
    arcs: &'pass [StoryArc],
    summaries: &'pass [ArcSummary],
) -> Vec<&'pass str> {
    const SHOWN: usize = 8;
    let closed = arcs.iter().filter(|arc| arc.resolved).map(|arc| arc.content.as_str());
    let mut ended: Vec<&str> = Vec::new();
    for text in summaries.iter().map(|ended| ended.arc.as_str()).chain(closed) {
        if !ended.contains(&text) {
            ended.push(text);
        }
    }
    ended.split_off(ended.len().saturating_sub(SHOWN))
}

/// New arcs that repeat none of these notes, no known arc and not each other.
fn novel(add: &[String], open: &[&str], notes: &[&Memory], vectors: &Vectors) -> Vec<String> {
    let mut new: Vec<String> = Vec::new();
    for text in add {
        let is_detail =
            notes.iter().any(|memory| vectors.likeness(text, &memory.content).reaches(0.78, 0.45));
        let is_known = open
            .iter()
            .copied()
            .chain(new.iter().map(String::as_str))
            .any(|other| vectors.likeness(text, other).reaches(SAME_COSINE, SAME_WORDS));
        if !is_detail && !is_known {
            new.push(text.clone());
        }
    }
    new
}

/// Drops the oldest open arcs beyond `max`. Closed ones do not count.
fn keep_newest(arcs: &mut Vec<StoryArc>, max: usize) {
    let mut excess = arcs.iter().filter(|arc| !arc.resolved).count().saturating_sub(max);
    arcs.retain(|arc| {
        let drop = !arc.resolved && excess > 0;
        excess -= usize::from(drop);
        !drop
    });
}

/// Asks how an arc ended.
pub fn summary_prompt(arc: &str, scenes: &[&Scene], memories: &[&Memory]) -> ModelQuestion {
    ModelQuestion {
        purpose: Purpose::ArcSummary,
        prompt: prompt(&[
            GUARD,
            "Tell in one paragraph, in the past tense, how this thread of the story began, what \
             turned it, and how it ended. Use only what is given.",
            &format!("Thread: {arc}"),
            &part("Scenes", &bullets(scenes.iter().map(|scene| scene.summary.as_str()))),
            &part("Notes", &contents(memories)),
        ]),
        max_tokens: 300,
    }
}

fn summarise(
    arc: &str,
    input: &ArcsInput<'_>,
    script: &mut Script<'_>,
) -> Result<Option<ArcSummary>, Need> {
    const SCENES: usize = 5;
    const MEMORIES: usize = 20;
    let scenes: Vec<&Scene> = input.scenes.iter().rev().take(SCENES).rev().collect();
    let linked: Vec<&MemoryId> = scenes.iter().flat_map(|scene| &scene.source_memory_ids).collect();
    let memories: Vec<&Memory> = input
        .session
        .iter()
        .filter(|memory| linked.contains(&&memory.id))
        .take(MEMORIES)
        .copied()
        .collect();
    let question = summary_prompt(arc, &scenes, &memories);
    let rules = input.config.rules.text;
    let summary = script.ask_for(question, rules, |reply| prose(reply, rules))?;
    Ok(summary.map(|summary| ArcSummary {
        arc: arc.to_owned(),
        summary: summary.to_owned(),
        source_scene_ids: scenes.iter().filter_map(|scene| scene.ts).collect(),
        source_memory_ids: memories.iter().map(|memory| memory.id.clone()).collect(),
        ts: Some(input.source.now),
    }))
}

/// Adds pinned arcs that a chat does not have yet, open or closed.
pub fn merge_persistent(arcs: &[StoryArc], persistent: &[StoryArc]) -> Vec<StoryArc> {
    let mut merged = arcs.to_vec();
    for pinned in persistent {
        if !merged.iter().any(|arc| jaccard(&arc.content, &pinned.content) >= SAME_WORDS) {
            merged.push(pinned.clone());
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_needs_words_and_a_strict_reader_wants_a_blank_before_them() {
        let reply =
            "[arc]No blank is before it.\n[ARC] Find the map.\n- **[arc]** Find the map again";
        assert_eq!(
            parse(reply, &[], &Rules::default()).add,
            ["No blank is before it.", "Find the map again"]
        );
        let reply = "[arc]No blank is before it.\n[ARC] Find the map.\n[arc] Find the map again";
        assert_eq!(parse(reply, &[], &Rules::smart_memory_1_8()).add, ["Find the map again"]);
    }

    #[test]
    fn a_thread_may_stand_on_the_next_line_and_a_tolerant_reader_takes_an_indented_tag() {
        let (ours, theirs) = (Rules::default(), Rules::smart_memory_1_8());
        let next = "Find the drowned bell";
        for (reply, tolerant, strict) in [
            ("[arc]\nFind the drowned bell", vec![next], vec![next]),
            ("  [arc] Find the drowned bell", vec![next], vec![]),
            ("[arc]\n[arc] Find the drowned bell", vec![next], vec!["[arc] Find the drowned bell"]),
            (
                "[arc] \u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}",
                vec![],
                vec![],
            ),
        ] {
            assert_eq!(parse(reply, &[], &ours).add, tolerant, "{reply}");
            assert_eq!(parse(reply, &[], &theirs).add, strict, "{reply}");
        }
        let ended = parse("[resolved]\nc d\n[resolved] a b", &["a b", "c d"], &theirs);
        assert_eq!(ended.resolve, [1, 0]);
    }

    #[test]
    fn only_open_threads_beyond_the_cap_go_and_the_oldest_first() {
        let arc = |content: &str, resolved| StoryArc {
            content: content.into(),
            resolved,
            ..StoryArc::default()
        };
        let mut arcs = vec![arc("a", false), arc("b", true), arc("c", false), arc("d", false)];
        keep_newest(&mut arcs, 2);
        let left: Vec<&str> = arcs.iter().map(|arc| arc.content.as_str()).collect();
        assert_eq!(left, ["b", "c", "d"]);
    }
}
