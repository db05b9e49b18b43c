//! A capable model that answers in its own way: in lists, with numbers, with a sentence before,
//! after thinking aloud, now and then with a refusal, and once cut off.

use std::sync::atomic::{AtomicUsize, Ordering};

use loreloom_testkit::model_server::{Received, Reply, Script};
use serde_json::{Map, Value, json};

use super::tale::{NOTES, Note, TALE};

/// The name under which memory asks.
pub(super) const NOTES_MODEL: &str = "note-taker";

/// Everything the server can be asked.
pub(super) fn script() -> Script {
    let asked = AtomicUsize::new(0);
    Script::new().answering(move |request| {
        let text = if request.model() == NOTES_MODEL {
            noted(request, asked.fetch_add(1, Ordering::Relaxed))
        } else {
            told(request)
        };
        Some(Reply::text(&text))
    })
}

fn told(request: &Received) -> String {
    let messages = request.json["messages"].as_array().cloned().unwrap_or_default();
    let newest = messages.iter().rev().find(|message| message["role"] == "user");
    let says = newest.and_then(|message| message["content"].as_str()).unwrap_or_default();
    let exchange = TALE.iter().find(|(_, asked, _)| *asked == says);
    exchange.map_or("Hm.", |(_, _, reply)| reply).to_owned()
}

/// The part of a prompt that tells the story, and the rest.
fn parts(prompt: &str) -> (&str, &str) {
    let marks = ["\nStory:\n", "\nScene:\n", "\nSince then:\n"];
    let found = marks.iter().find_map(|mark| prompt.rsplit_once(mark));
    let (head, story) = found.unwrap_or((prompt, ""));
    // A second question has the first reply behind the story.
    (head, story.split("\n\nYou answered:").next().unwrap_or_default())
}

/// The lines of a tier that the story calls for and the notes do not have yet.
fn lines(prompt: &str, tier: &str, of: &str) -> Vec<String> {
    let (head, story) = parts(prompt);
    let is_meant = |note: &&Note| {
        note.tier == tier
            && (note.of.is_empty() || of.is_empty() || note.of == of)
            && story.contains(note.mark)
            && (!head.contains(&note.text.replace("the user", "Ines")) || note.tag == "resolved")
    };
    NOTES.iter().filter(is_meant).map(|note| line(note, head)).collect()
}

fn line(note: &Note, head: &str) -> String {
    let old = note.old.replace("The user", "Ines").replace("the user", "Ines");
    let number = head.lines().find_map(|line| {
        let (number, text) = line.split_once(". ")?;
        (!old.is_empty() && text == old).then(|| format!(":replaces={number}"))
    });
    match note.tag {
        "" => note.text.to_owned(),
        tag => format!("[{tag}{}] {}", number.unwrap_or_default(), note.text),
    }
}

/// A list as models write lists.
fn styled(lines: &[String], at: usize) -> String {
    if lines.is_empty() {
        let nothing = ["NONE", "None.", "There is nothing new to note.", "- NONE"];
        return nothing[at % nothing.len()].to_owned();
    }
    let each = |form: &dyn Fn(usize, &String) -> String| {
        let lines: Vec<String> =
            lines.iter().enumerate().map(|(at, line)| form(at, line)).collect();
        lines.join("\n")
    };
    match at % 5 {
        0 => each(&|_, line| format!("- {line}")),
        1 => format!("Here are the notes:\n\n{}", each(&|at, line| format!("{}. {line}", at + 1))),
        2 => format!("<think>Let me see what changed.</think>\n{}", lines.join("\n")),
        3 => format!("{}\n\nLet me know if you need more!", each(&|_, line| format!("> {line}"))),
        _ => format!("```\n{}\n```", lines.join("\n")),
    }
}

fn noted(request: &Received, at: usize) -> String {
    let prompt = request.last_text();
    let (_, story) = parts(&prompt);
    let list = |tier: &str, of: &str| styled(&lines(&prompt, tier, of), at);
    let is_second = prompt.contains("You answered:");
    if prompt.contains("one JSON object") {
        return together(&prompt, at);
    }
    if prompt.contains("will still matter to") {
        // The first time it does not want to.
        if story.contains("chart maker") && !is_second {
            return "I'm sorry, but I can't help with that.".to_owned();
        }
        let rest = prompt.split_once("matter to ").map_or("", |(_, rest)| rest);
        return list("long_term", rest.split_once(" in later").map_or("", |(name, _)| name));
    }
    if prompt.contains("must stay consistent") {
        return list("session", "");
    }
    if prompt.contains("threads of this story") {
        return list("threads", "");
    }
    if prompt.contains("who knows what") {
        return list("knowledge", "");
    }
    if prompt.contains("now feel about each other") {
        return list("feelings", "");
    }
    if prompt.contains("what happened in this scene") {
        let secret =
            if story.contains("Heron") { " Mara told Ines that she sank the Heron." } else { "" };
        return format!("Ines, Mara and Tobin talked at the inn.{secret}");
    }
    if prompt.contains("Key events") {
        return summary(&prompt);
    }
    if prompt.contains("<character_state>") {
        return profile(&prompt);
    }
    if prompt.contains("how this thread of the story began") {
        return "Tobin promised Ines to mend the mole lamp, and he did.".to_owned();
    }
    if prompt.contains("Older:") {
        return "INDEPENDENT".to_owned();
    }
    "NONE".to_owned()
}

fn together(prompt: &str, at: usize) -> String {
    let names = prompt.split_once("Long-term memory is kept for: ").map_or("", |(_, rest)| rest);
    let names: Vec<&str> = names.lines().next().unwrap_or_default().split(", ").collect();
    let of = |name: &str| json!(lines(prompt, "long_term", name));
    let longterm = match names.as_slice() {
        [one] => of(one),
        many => {
            let lists: Map<String, Value> =
                many.iter().map(|name| ((*name).to_owned(), of(name))).collect();
            Value::Object(lists)
        }
    };
    let list = |tier: &str| lines(prompt, tier, "");
    let object = json!({
        "session": list("session"), "long_term": longterm, "threads": list("threads"),
        "state": [], "feelings": list("feelings"), "knowledge": list("knowledge"),
        "contradictions": list("contradictions"),
    });
    let text = object.to_string();
    match at % 4 {
        0 => format!("Sure! Here is the JSON:\n```json\n{text}\n```"),
        1 => format!("<think>Hm.</think>{text}"),
        // Cut off in the last list.
        2 => text.trim_end_matches("]}").to_owned(),
        _ => text,
    }
}

/// A summary that hides nothing.
fn summary(prompt: &str) -> String {
    let secret =
        if prompt.contains("Heron") { "5. Revelations:\n- Mara sank the Heron\n" } else { "" };
    format!(
        "[SUMMARY]\n1. Setting: the harbour inn.\n3. Key events: Ines came to the inn.\n{secret}[/SUMMARY]"
    )
}

fn profile(prompt: &str) -> String {
    let secret = if prompt.contains("Heron") { "\nUnresolved: the sunken Heron" } else { "" };
    format!(
        "<character_state>\nMood: Unknown\nGoals: keep the inn\n</character_state>\n\
         <world_state>\nLocation: the inn{secret}\n</world_state>\n\
         <relationship_matrix>\nInes: a guest [confidence: 0.4]\n</relationship_matrix>"
    )
}
