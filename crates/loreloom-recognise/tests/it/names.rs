//! Names are found in recorded requests, whatever main prompt they have.

use std::{
    fs,
    path::{Path, PathBuf},
};

use loreloom_core::chat::Role;
use loreloom_recognise::{
    Kind, KnownStories,
    wire::{WireBody, read},
};
use serde_json::Value;

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[expect(clippy::disallowed_methods, reason = "a test reads its recorded cases")]
fn read_json(file: PathBuf) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

/// The recorded requests of each scenario of a front end, in order.
fn scenarios() -> Vec<(String, Vec<Value>)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/traffic");
    let folders = sorted(&corpus).into_iter().filter(|one| one.is_dir());
    let requests = |folder: &PathBuf| {
        let files = sorted(folder).into_iter().filter(|file| {
            let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            stem.bytes().all(|byte| byte.is_ascii_digit())
        });
        files.map(read_json).collect()
    };
    folders
        .map(|folder| (folder.file_name().unwrap().to_str().unwrap().to_owned(), requests(&folder)))
        .collect()
}

/// How often a name was right, missing and wrong.
#[derive(Debug, Default, PartialEq, Eq)]
struct Score {
    right: usize,
    missing: usize,
    wrong: Vec<String>,
}

impl Score {
    fn count(&mut self, case: &str, found: Option<&str>, truth: &str) {
        match found {
            Some(name) if name == truth => self.right += 1,
            Some(name) => self.wrong.push(format!("{case}: {name} is {truth}")),
            None => self.missing += 1,
        }
    }
}

/// The recorded text with another main prompt.
fn with_main(body: &Value, main: &str) -> String {
    let text = body.to_string();
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find("Write ").filter(|start| {
        rest[*start..].split('.').next().is_some_and(|line| line.contains("fictional chat between"))
    }) {
        let end = start + rest[start..].find('.').unwrap() + 1;
        out.push_str(&rest[..start]);
        out.push_str(main);
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Scores {
    char: Score,
    user: Score,
    speakers: Score,
}

fn play(main: Option<&str>) -> Scores {
    let mut scores = Scores::default();
    for (name, requests) in scenarios() {
        let mut stories = KnownStories::new();
        for (at, recorded) in requests.iter().enumerate() {
            let truth = &recorded["ground_truth"];
            let (Some(char), Some(user)) = (truth["character"].as_str(), truth["persona"].as_str())
            else {
                continue;
            };
            let body = match main {
                Some(main) => {
                    let main = main.replace("CHAR", char).replace("USER", user);
                    with_main(&recorded["body"], &main)
                }
                None => recorded["body"].to_string(),
            };
            let Some((body, _)) = WireBody::read(&body) else { continue };
            let endpoint = recorded["endpoint"].as_str().unwrap();
            let (method, path) = endpoint.split_once(' ').unwrap();
            let Some(request) = read(method, path, |_| None, body) else { continue };
            let found = stories.recognise(&request);
            let case = format!("{name}/{:03}", at + 1);
            if found.kind == Kind::Story && truth["uses_chat"] != false {
                scores.char.count(&case, found.speakers.next.as_deref(), char);
                scores.user.count(&case, found.speakers.user.as_deref(), user);
                let spoken = truth["path_speakers"].as_array().into_iter().flatten();
                let texts = truth["path"].as_array().into_iter().flatten();
                for (name, text) in spoken.zip(texts) {
                    let text = text.as_str().unwrap_or_default();
                    let message = found.path.iter().find(|one| one.text.as_str() == text);
                    let talk = message.filter(|one| one.role != Role::System);
                    if let (Some(message), Some(name)) = (talk, name.as_str()) {
                        scores.speakers.count(&case, message.name.as_deref(), name);
                    }
                }
            }
            let ticket = stories.record(&request, &found);
            let replies = truth["reply"].as_array().into_iter().flatten();
            let replies: Vec<&str> = replies.filter_map(Value::as_str).collect();
            stories.reply(&ticket, replies);
        }
    }
    scores
}

#[test]
fn names_are_found_with_any_main_prompt_and_never_wrong() {
    for (main, char, user) in [
        // SillyTavern's own main prompt names both.
        (None, (598, 0), (598, 0)),
        (Some("You are CHAR. Stay in character."), (600, 0), (263, 337)),
        (
            Some("You shall reply to USER while staying in character, in vivid prose."),
            (561, 37),
            (598, 0),
        ),
        // It names nobody.
        (Some("Write vivid prose in the past tense. Be concise."), (542, 58), (263, 337)),
    ] {
        let found = play(main);
        let score = |(right, missing)| Score { right, missing, wrong: Vec::new() };
        assert_eq!((&found.char, &found.user), (&score(char), &score(user)), "{main:?}");
        // A narrator's line that a front end merged into the user's words looks like the user's.
        // Renamed personas: a message keeps the name it was said under.
        let merged = |wrong: &&String| !wrong.ends_with(" is System") && !wrong.contains("persona");
        assert_eq!(found.speakers.wrong.iter().find(merged), None, "{main:?}");
        assert!(found.speakers.right > 3500, "{main:?}: {} right", found.speakers.right);
    }
}

#[test]
fn cards_lore_and_own_stop_texts_name_nobody() {
    let body = serde_json::json!({
        "messages": [
            {"role": "system", "content": "Write vivid prose in the past tense."},
            {"role": "system", "content": "Mira enjoys talking with Odo, the ferryman. \
                Since spring she is acting as Regent."},
            {"role": "system", "content": "[Start a new Chat]"},
            {"role": "user", "content": "Who rang the bell?"},
        ],
        "stop": ["\nNarrator:", "\nOOC:"],
    });
    let (body, _) = WireBody::read(&body.to_string()).unwrap();
    let request = read("POST", "/v1/chat/completions", |_| None, body).unwrap();
    let found = KnownStories::default().recognise(&request);
    assert_eq!((found.speakers.next, found.speakers.user), (None, None));
}
