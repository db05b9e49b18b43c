//! The story so far: a summary that grows with the story.

mod parse;

use loreloom_core::chat::PathItem;

pub use self::parse::parse;
use super::{Config, GUARD, contents, part, prompt};
use crate::{
    cast::StoryCast,
    pass::{ModelQuestion, Need, Purpose, Script},
    record::Memory,
    reply::is_refusal,
    text::{QuarterEstimate, head},
    window::lines,
};

/// The sections of a summary, and how an update treats each.
const SECTIONS: [(&str, &str); 8] = [
    ("Setting", "rewrite: where and when the story now is"),
    ("People present", "rewrite: who is there now and in what state"),
    ("Key events", "append: never drop an earlier event"),
    ("Relationships", "rewrite: how people stand to each other now"),
    ("Revelations", "append: never drop an earlier one"),
    ("Threads", "update: add new ones, mark those that ended as resolved"),
    ("The player's direction", "rewrite: what the player seems to want from the story"),
    ("Current moment", "rewrite: what is happening right now"),
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
        let is_whole = !rules.text.is_tolerant()
            || is_summary(reply, &text) && (parse::is_closed(reply) || keeps_sections(old, &text));
        (!text.is_empty() && is_whole).then_some(text)
    })?;
    Ok(match text {
        Some(text) if rules.text.is_tolerant() => {
            let text = StoryCast::of(input.chat, "").named(&text);
            CompactionOutcome::Written { text, end }
        }
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

/// Whether a text has every section of the summary that it replaces. A reply that breaks off at the
/// token limit has lost the last ones.
fn keeps_sections(old: Option<&str>, text: &str) -> bool {
    let (old, new) = (old.unwrap_or_default().to_lowercase(), text.to_lowercase());
    let mut titles = SECTIONS.iter().map(|(title, _)| title.to_lowercase());
    titles.all(|title| !old.contains(&title) || new.contains(&title))
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
        Some(_) => {
            "Bring the summary of this story up to date with what happened since. Write all \
             sections in full; the note behind each says how to treat it."
        }
        None => "Summarise this story.",
    };
    let form = format!(
        "{task} Answer with [SUMMARY], then these sections, then [/SUMMARY]:\n{}\n\
         Example of a section: 1. Setting: the Old Mill above Carrow, on a winter evening.\n\
         Leave out a section that would be empty. Use names. Tell what happened, and nothing \
         that has not happened yet.",
        sections.join("\n")
    );
    let (known, before) = (digest(input), old.unwrap_or_default());
    ModelQuestion {
        purpose: Purpose::Compaction,
        prompt: prompt(&[
            GUARD,
            &form,
            &StoryCast::of(input.chat, "").sentence(),
            &part("Kept elsewhere, no need to repeat", &known),
            &part("Summary so far", before),
            &part(if old.is_some() { "Since then" } else { "Story" }, news),
        ]),
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
    format!("{}\n{}", cut(input.longterm), cut(input.session)).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_that_breaks_off_keeps_every_section() {
        let old = Some("1. Setting: the pier\n2. Key events: the bell rang\n3. Threads: the key");
        for (text, expected) in [
            ("1. Setting: the mill\n2. Key events: a storm\n3. Threads: none", true),
            ("**Setting** the mill\n**key events** a storm\n**THREADS** none", true),
            ("1. Setting: the mill\n2. Key events: the bell rang, and then", false),
        ] {
            assert_eq!(keeps_sections(old, text), expected, "{text}");
            assert!(keeps_sections(None, text), "a first summary has nothing to lose: {text}");
        }
        assert!(parse::is_closed("[SUMMARY]\n1. Setting: x\n[/SUMMARY]"));
        assert!(!parse::is_closed("[SUMMARY]\n1. Setting: x"));
    }
}
