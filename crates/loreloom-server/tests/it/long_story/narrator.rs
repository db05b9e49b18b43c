//! The model of the story: it tells the replies of the plot, and as memory's own model notes
//! what a good one would note.

use loreloom_testkit::model_server::{Received, Reply, Script};

use super::plot::{BEATS, CONFESSION, NOTES, QUESTIONS};

/// The name under which memory asks.
pub(super) const NOTES_MODEL: &str = "note-taker";

/// Everything the server can be asked.
pub(super) fn script() -> Script {
    Script::new().answering(|request| {
        let text = if request.model() == NOTES_MODEL { noted(request) } else { told(request) };
        Some(Reply::text(&text))
    })
}

/// What the user says in an exchange, and who answers.
pub(super) fn exchange(at: usize) -> (&'static str, String) {
    if let Some(beat) = BEATS.iter().chain(CONFESSION).find(|beat| beat.at == at) {
        return (beat.speaker, beat.says.to_owned());
    }
    if let Some(asked) = QUESTIONS.iter().find(|asked| asked.at == at) {
        return (asked.speaker, asked.says.to_owned());
    }
    let speaker = match at {
        30..=37 | 59..=77 | 112..=118 | 123..=126 | 132..=134 => "Tobin",
        _ => "Mara",
    };
    let things = ["the wind", "the tide", "a gull", "the old winch", "the weather glass", "a seal"];
    (speaker, format!("I look at {} and count {}.", things[at % things.len()], at + 100))
}

fn told(request: &Received) -> String {
    let messages = request.json["messages"].as_array().cloned().unwrap_or_default();
    let newest = messages.iter().rev().find(|message| message["role"] == "user");
    let says = newest.and_then(|message| message["content"].as_str()).unwrap_or_default();
    let beat = BEATS.iter().chain(CONFESSION).find(|beat| beat.says == says);
    beat.map_or_else(|| format!("Mhm, {}.", says.len() * 7 % 91), |beat| beat.reply.to_owned())
}

fn noted(request: &Received) -> String {
    let prompt = request.last_text();
    let (head, story) = ["\nStory:\n", "\nScene:\n"]
        .iter()
        .find_map(|mark| prompt.rsplit_once(mark))
        .unwrap_or((prompt.as_str(), ""));
    let lines = |tier: &str, of: &str| -> Vec<String> {
        NOTES
            .iter()
            .filter(|note| note.tier == tier && (note.of.is_empty() || note.of == of))
            .filter(|note| story.contains(note.mark))
            .filter(|note| tier == "knows" || !head.contains(statement(note.line)))
            .map(|note| note.line.to_owned())
            .collect()
    };
    let named = |mark: &str, end: &str| {
        let rest = prompt.split_once(mark).map_or("", |(_, rest)| rest);
        rest.split_once(end).map_or("", |(name, _)| name).to_owned()
    };
    let list = |lines: Vec<String>| {
        if lines.is_empty() { "NONE".to_owned() } else { lines.join("\n") }
    };
    if prompt.contains("one JSON object") {
        let of = named("matter to ", " in later");
        return serde_json::json!({
            "session": lines("session", ""), "long_term": lines("long_term", &of),
            "threads": lines("arcs", ""), "state": [], "knowledge": lines("knows", ""),
        })
        .to_string();
    }
    if prompt.contains("will still matter to") {
        return list(lines("long_term", &named("matter to ", " in later")));
    }
    if prompt.contains("must stay consistent") {
        return list(lines("session", ""));
    }
    if prompt.contains("threads of this story") {
        return list(lines("arcs", ""));
    }
    if prompt.contains("who knows what") {
        return list(lines("knows", ""));
    }
    if prompt.contains("what happened in this scene") {
        return scene(story);
    }
    if prompt.contains("Key events") {
        return format!("1. Setting: the harbour.\n3. Key events: It rained. {}", secrets(&prompt));
    }
    if prompt.contains("<character_state>") {
        return format!("<character_state>Mood: calm. {}</character_state>", secrets(&prompt));
    }
    "NONE".to_owned()
}

/// What a line says, without its tag.
fn statement(line: &str) -> &str {
    line.rsplit_once("] ").map_or("", |(_, text)| text)
}

/// A summary that hides nothing, with something of its own in it.
fn scene(story: &str) -> String {
    let number = story.split(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty());
    format!("They counted to {} by the water. {}", number.unwrap_or("none"), secrets(story))
}

/// The secrets that a text tells: a model that retells it retells them.
fn secrets(text: &str) -> String {
    [
        ("forged the lease", "Mara told Ines that she forged the lease of the mill."),
        ("sold the tide charts", "Tobin told Ines that he sold the tide charts to the garrison."),
    ]
    .iter()
    .filter(|(mark, _)| text.contains(mark))
    .map(|(_, told)| *told)
    .collect::<Vec<_>>()
    .join(" ")
}
