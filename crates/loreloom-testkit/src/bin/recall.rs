//! `recall FILE… [--json] [--words] [--left-out] [--own] [--languages]`: measures recall on
//! conversations in the form of `LoCoMo` and prints one line of JSON, with or without `--json`. With
//! `--words` no embedder is used. `--left-out` prints one line for each conversation, with weights
//! chosen on the others; with several files, one line for each file. With `--own`, FILE is a folder of stories like `recall-own/seen` of this
//! crate; turns that recall gets wrong go to the standard error stream. With `--languages`, FILE is
//! the folder `recall-own/languages`.

use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use loreloom_llm::embed::StaticEmbedder;
use loreloom_memory::recall::{StoryVectors, Weights};
use loreloom_ports::Vector;
use loreloom_testkit::{
    locomo::{Conversations, Figures, MULTI_HOP, left_out, sets_left_out},
    recall_languages::languages,
    recall_own,
};
use serde::Serialize;

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to do if even the error cannot be told.
            let _unwritten = writeln!(io::stderr(), "recall: {error}");
            ExitCode::from(2)
        }
    }
}

const FLAGS: [&str; 5] = ["--json", "--words", "--left-out", "--own", "--languages"];

fn run(words: impl Iterator<Item = String>) -> Result<(), String> {
    let (flags, files): (Vec<String>, Vec<String>) = words.partition(|word| word.starts_with('-'));
    if let Some(flag) = flags.iter().find(|flag| !FLAGS.contains(&flag.as_str())) {
        return Err(format!("unknown argument `{flag}`"));
    }
    let has = |wanted: &str| flags.iter().any(|flag| flag == wanted);
    let embedder = StaticEmbedder::embedded();
    let embed = |text: &str| -> Vector { embedder.embed_one(text) };
    let embed: Option<&dyn StoryVectors> = if has("--words") { None } else { Some(&embed) };
    if let ([_, _, ..], true) = (files.as_slice(), has("--left-out")) {
        let sets: Result<Vec<Conversations>, String> =
            files.iter().map(|file| read(file, embed)).collect();
        return sets_left_out(&sets?, embed).iter().try_for_each(print);
    }
    let [file] = files.as_slice() else {
        return Err(format!("usage: recall FILE [{}]", FLAGS.join("] [")));
    };
    if has("--own") {
        let measured = recall_own::measure(Path::new(file), &Weights::default(), embed)?;
        for wrong in &measured.wrong {
            writeln!(io::stderr(), "{wrong}").map_err(|error| error.to_string())?;
        }
        return print(&measured);
    }
    if has("--languages") {
        let measured = languages(Path::new(file), &Weights::default(), embed)?;
        return measured.iter().try_for_each(print);
    }
    let conversations = read(file, embed)?;
    if has("--left-out") {
        return left_out(&conversations, embed).iter().try_for_each(print);
    }
    let weights = Weights::default();
    print(&Measured {
        all: conversations.measure(&weights, embed, |_, _| true),
        multi_hop: conversations.measure(&weights, embed, |_, category| category == MULTI_HOP),
    })
}

fn read(file: &str, embed: Option<&dyn StoryVectors>) -> Result<Conversations, String> {
    #[expect(clippy::disallowed_methods, reason = "a program; the path is in the error")]
    let json = std::fs::read(file).map_err(|error| format!("`{file}`: {error}"))?;
    Conversations::read(&json, embed)
}

/// All questions, and those among them that need several turns.
#[derive(Serialize)]
struct Measured {
    #[serde(flatten)]
    all: Figures,
    multi_hop: Figures,
}

fn print(value: &impl Serialize) -> Result<(), String> {
    let line = serde_json::to_string(value).map_err(|error| error.to_string())?;
    writeln!(io::stdout(), "{line}").map_err(|error| error.to_string())
}
