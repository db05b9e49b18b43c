//! Judges one scenario: kind, the messages found, the whole path, and the chat's identity.

use std::collections::{BTreeMap, BTreeSet};

use loreloom_core::chat::single_spaced;
use serde_json::Value;

/// What earlier requests of the scenario have shown.
#[derive(Default)]
pub struct Judge {
    /// Texts seen in requests and replies.
    seen: BTreeSet<String>,
    /// The tree of each chat, with its file and the file it branches from.
    trees: BTreeMap<String, Chat>,
}

struct Chat {
    tree: String,
    file: String,
    branch_of: Option<String>,
}

/// A text that is expected.
struct Wanted {
    text: String,
    /// Whether it may be missing, or another text may be in its place.
    open: bool,
}

impl Judge {
    /// How the output differs from what was recorded.
    pub fn difference(&mut self, recorded: &Value, actual: &Value) -> Option<String> {
        let truth = &recorded["ground_truth"];
        let kind = expected_kind(recorded);
        if actual["kind"] != kind {
            return Some(format!("/kind: expected {kind}, found {}", actual["kind"]));
        }
        let difference = (kind == "story" && truth["path"].is_array())
            .then(|| {
                // A server does not say what it found in the body.
                (!actual["extracted"].is_null())
                    .then(|| found_differs(truth, actual))
                    .flatten()
                    .or_else(|| {
                        self.path_differs(truth, actual).filter(|_| !actual["path"].is_null())
                    })
                    .or_else(|| self.tree_differs(truth, actual))
            })
            .flatten();
        self.remember(truth);
        difference
    }

    fn remember(&mut self, truth: &Value) {
        let texts = texts(&truth["path"]);
        let present = flags(&truth["path_present"]);
        for (text, _) in texts.iter().zip(present).filter(|(_, present)| *present) {
            self.seen.insert(single_spaced(text));
        }
        self.seen.extend(texts_of(&truth["reply"]).iter().map(|text| single_spaced(text)));
    }

    fn path_differs(&self, truth: &Value, actual: &Value) -> Option<String> {
        let present = flags(&truth["path_present"]);
        let wanted: Vec<Wanted> = texts(&truth["path"])
            .iter()
            .zip(present)
            .map(|(text, present)| {
                let text = single_spaced(text);
                let known = present || self.seen.contains(&text);
                Wanted { text, open: !known }
            })
            .collect();
        differs("/path", &wanted, &texts_of(&actual["path"]), &speakers(truth))
    }

    fn tree_differs(&mut self, truth: &Value, actual: &Value) -> Option<String> {
        let chat = truth["chat_integrity"].as_str()?;
        let tree = actual["tree"].as_str().unwrap_or_default();
        let file = truth["chat_file"].as_str().unwrap_or_default();
        let branch_of = truth["branch_of"].as_str().map(str::to_owned);
        if let Some(known) = self.trees.get_mut(chat) {
            file.clone_into(&mut known.file);
            return (known.tree != tree).then(|| {
                format!("/tree: the chat's requests are in `{}`, this one in `{tree}`", known.tree)
            });
        }
        let own = Chat { tree: tree.to_owned(), file: file.to_owned(), branch_of };
        let family = self.origin(&own);
        let clash =
            self.trees.iter().find(|(_, other)| other.tree == tree && self.origin(other) != family);
        let clash = clash.map(|(other, _)| format!("/tree: `{tree}` is that of chat {other}"));
        self.trees.insert(chat.to_owned(), own);
        clash
    }
}

impl Judge {
    /// The file that a chat descends from through all its branches.
    fn origin<'a>(&'a self, chat: &'a Chat) -> &'a str {
        let mut file = chat.branch_of.as_deref().unwrap_or(&chat.file);
        while let Some(parent) = self
            .trees
            .values()
            .find(|other| other.file == file)
            .and_then(|other| other.branch_of.as_deref())
        {
            file = parent;
        }
        file
    }
}

/// SDK requests have no recorded kind: those that ask for text are story.
fn expected_kind(recorded: &Value) -> &'static str {
    let truth = &recorded["ground_truth"];
    if truth["generation_type"].is_null() {
        let endpoint = recorded["endpoint"].as_str().unwrap_or_default();
        let asks = ["completion", "/responses", "/api/chat", "/api/generate"];
        let story = endpoint.starts_with("POST") && asks.iter().any(|path| endpoint.contains(path));
        return if story { "story" } else { "pass" };
    }
    let quiet = truth["generation_type"] == "quiet" || truth["uses_chat"] == false;
    if quiet { "background" } else { "story" }
}

/// A text that the request does not hold as it is stored is not judged.
fn found_differs(truth: &Value, actual: &Value) -> Option<String> {
    let first = truth["first_present"].as_u64().and_then(|at| usize::try_from(at).ok())?;
    let wanted: Vec<Wanted> = texts(&truth["path"])
        .iter()
        .zip(flags(&truth["path_present"]))
        .skip(first)
        .map(|(text, present)| Wanted { text: single_spaced(text), open: !present })
        .collect();
    differs("/extracted", &wanted, &texts_of(&actual["extracted"]), &speakers(truth))
}

fn differs(at: &str, wanted: &[Wanted], found: &[String], names: &[String]) -> Option<String> {
    let found: Vec<String> = found.iter().map(|text| single_spaced(text)).collect();
    if matches(wanted, &found, names) {
        return None;
    }
    let same = wanted.iter().zip(&found).take_while(|(w, f)| w.open || equal(&w.text, f, names));
    let index = same.count();
    Some(format!(
        "{at}/{index}: expected {:?} ({} items), found {:?} ({} items)",
        wanted.get(index).map(|wanted| wanted.text.as_str()),
        wanted.len(),
        found.get(index),
        found.len()
    ))
}

/// Whether the lists agree; an open text may be missing or be any other.
fn matches(wanted: &[Wanted], found: &[String], names: &[String]) -> bool {
    match (wanted, found) {
        ([], []) => true,
        ([first, rest @ ..], _) if first.open => {
            matches(rest, found, names)
                || found.split_first().is_some_and(|(_, left)| matches(rest, left, names))
        }
        ([first, rest @ ..], [text, left @ ..]) => {
            equal(&first.text, text, names) && matches(rest, left, names)
        }
        ([], [..]) | ([_, ..], []) => false,
    }
}

fn equal(a: &str, b: &str, names: &[String]) -> bool {
    bare(a, names) == bare(b, names)
}

fn bare<'text>(text: &'text str, names: &[String]) -> &'text str {
    let cut = |name: &String| text.strip_prefix(name.as_str())?.strip_prefix(": ");
    names.iter().find_map(cut).unwrap_or(text)
}

fn speakers(truth: &Value) -> Vec<String> {
    let mut names = texts_of(&truth["path_speakers"]);
    names.sort();
    names.dedup();
    names
}

fn texts(value: &Value) -> Vec<String> {
    texts_of(value)
}

fn texts_of(value: &Value) -> Vec<String> {
    let list = value.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn flags(value: &Value) -> Vec<bool> {
    let list = value.as_array().into_iter().flatten();
    list.map(|flag| flag.as_bool().unwrap_or_default()).collect()
}
