//! `recall FILE [--json] [--words] [--left-out]`: measures recall on conversations in the form of
//! `LoCoMo` and prints one line of JSON, with or without `--json`. With `--words` no embedder is
//! used. `--left-out` prints one line for each conversation, with weights chosen on the others.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use loreloom_llm::embed::StaticEmbedder;
use loreloom_memory::recall::Weights;
use loreloom_ports::Vector;
use loreloom_testkit::locomo::{Conversations, Figures, MULTI_HOP, left_out};
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

fn run(words: impl Iterator<Item = String>) -> Result<(), String> {
    let (flags, files): (Vec<String>, Vec<String>) = words.partition(|word| word.starts_with('-'));
    if let Some(flag) =
        flags.iter().find(|flag| !["--json", "--words", "--left-out"].contains(&flag.as_str()))
    {
        return Err(format!("unknown argument `{flag}`"));
    }
    let [file] = files.as_slice() else {
        return Err("usage: recall FILE [--json] [--words] [--left-out]".to_owned());
    };
    #[expect(clippy::disallowed_methods, reason = "a program; the path is in the error")]
    let json = std::fs::read(file).map_err(|error| format!("`{file}`: {error}"))?;
    let has = |wanted: &str| flags.iter().any(|flag| flag == wanted);
    let embedder = StaticEmbedder::embedded();
    let embed = |text: &str| -> Vector { embedder.embed_one(text) };
    let embed: Option<&dyn Fn(&str) -> Vector> = if has("--words") { None } else { Some(&embed) };
    let conversations = Conversations::read(&json, embed)?;
    if has("--left-out") {
        return left_out(&conversations, embed).iter().try_for_each(print);
    }
    let weights = Weights::default();
    print(&Measured {
        all: conversations.measure(&weights, embed, |_, _| true),
        multi_hop: conversations.measure(&weights, embed, |_, category| category == MULTI_HOP),
    })
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
