//! The story so far: a summary that grows with the story.

mod parse;

use loreloom_core::chat::PathItem;

pub use self::parse::parse;
use super::{Config, GUARD, contents};
use crate::{
    pass::{ModelQuestion, Need, Purpose, Script},
    record::Memory,
    reply::is_refusal,
    text::{QuarterEstimate, head},
    window::lines,
};

/// The sections of a summary, and how an update treats each.
const SECTIONS: [(&str, &str); 9] = [
    ("Setting", "rewrite: where and when the story now is"),
    ("People present", "rewrite: who is there now and in what state"),
    ("Key events", "append: never drop an earlier event"),
    ("Relationships", "rewrite: how people stand to each other now"),
    ("Revelations", "append: never drop an earlier one"),
    ("Threads", "update: add new ones, mark those that ended as resolved"),
    ("The user's direction", "rewrite: what the user seems to want from the story"),
    ("Current moment", "rewrite: what is happening right now"),
    ("Next beat", "rewrite: what is about to happen"),
];

/// What a compaction works on.
#[derive(Clone, Debug)]
pub struct CompactionInput<'pass> {
    /// Settings, rules and model.
    pub config: Config<'pass>,
    /// The messages to summarise, from the first. Without a trailing reply that may still be
    /// swiped away.
    pub chat: &'pass [PathItem],
    /// The current summary.
    pub summary: Option<&'pass str>,
    /// How many messages it covers.
    pub summary_end: usize,
    /// Active long-term memories, which the summary need not repeat.
    pub longterm: &'pass [&'pass Memory],
    /// Active session memories, likewise.
    pub session: &'pass [&'pass Memory],
}

/// The result of a compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactionOutcome {
    /// A new summary of the first `end` messages.
    Written {
        /// The summary.
        text: String,
        /// How many messages it covers.
        end: usize,
    },
    /// There is nothing new; the summary stays.
    Current,
    /// The model answered nothing; the stored summary stays.
    Failed,
}

/// Runs a compaction. The caller checks the threshold.
pub fn run(
    input: &CompactionInput<'_>,
    script: &mut Script<'_>,
) -> Result<CompactionOutcome, Need> {
    let end = input.chat.len();
    let old = input.summary.filter(|text| !text.trim().is_empty());
    let from = if old.is_some() { input.summary_end.min(end) } else { 0 };
    let news = lines(&input.chat[from..]);
    if news.trim().is_empty() {
        return Ok(if old.is_some() {
            CompactionOutcome::Current
        } else {
            CompactionOutcome::Failed
        });
    }
    let rules = input.config.rules;
    let text = script.ask_for(prompt_for(input, old, &news), rules.text, |reply| {
        let text = parse(reply, rules);
        let is_summary = !rules.text.is_tolerant() || is_summary(reply, &text);
        (!text.is_empty() && is_summary).then_some(text)
    })?;
    Ok(match text {
        Some(text) => CompactionOutcome::Written { text, end },
        None => CompactionOutcome::Failed,
    })
}

/// Whether a reply is a summary: it has the markers, or several of the sections, and does not
/// refuse.
fn is_summary(reply: &str, text: &str) -> bool {
    const LEAST: usize = 3;
    let lower = text.to_lowercase();
    let sections = SECTIONS.iter().filter(|(title, _)| lower.contains(&title.to_lowercase()));
    (parse::is_marked(reply) || sections.count() >= LEAST) && !is_refusal(text)
}

/// Asks for a first summary, or for an update of `old`.
pub fn prompt_for(input: &CompactionInput<'_>, old: Option<&str>, news: &str) -> ModelQuestion {
    let sections: Vec<String> = SECTIONS
        .iter()
        .enumerate()
        .map(|(at, (title, policy))| match old {
            Some(_) => format!("{}. {title}: ({policy})", at + 1),
            None => format!("{}. {title}:", at + 1),
        })
        .collect();
    let task = match old {
        Some(old) => format!(
            "Bring this summary of a story up to date with what happened since. Write all nine \
             sections in full; the note behind each says how to treat it.\n\n\
             Summary so far:\n{old}\n\nSince then:\n{news}"
        ),
        None => format!("Summarise this story in nine sections.\n\nStory:\n{news}"),
    };
    ModelQuestion {
        purpose: Purpose::Compaction,
        prompt: format!(
            "{GUARD}\n\n{task}\n\n\
             Kept elsewhere, so no need to repeat:\n{}\n\n\
             Answer with [SUMMARY], then these sections, then [/SUMMARY]:\n{}",
            digest(input),
            sections.join("\n")
        ),
        max_tokens: input.config.settings.compaction_response_length,
    }
}

/// The stored memories, each tier cut to 400 estimated tokens.
fn digest(input: &CompactionInput<'_>) -> String {
    const MOST: usize = 400;
    let cut = |memories: &[&Memory]| {
        let list = contents(memories);
        head(&list, MOST * QuarterEstimate::CHARACTERS).to_owned()
    };
    format!("{}\n{}", cut(input.longterm), cut(input.session))
}
