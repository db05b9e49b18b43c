//! `recall FILE [--words]`: measures recall on conversations in the form of `LoCoMo` and prints one
//! line of JSON. With `--words` no embedder is used.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use loreloom_llm::embed::StaticEmbedder;
use loreloom_memory::{ports::Vector, recall::Weights};
use loreloom_testkit::locomo::measure;

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
    if let Some(flag) = flags.iter().find(|flag| *flag != "--words") {
        return Err(format!("unknown argument `{flag}`"));
    }
    let [file] = files.as_slice() else { return Err("usage: recall FILE [--words]".to_owned()) };
    #[expect(clippy::disallowed_methods, reason = "a program; the path is in the error")]
    let json = std::fs::read(file).map_err(|error| format!("`{file}`: {error}"))?;
    let embedder = StaticEmbedder::embedded();
    let embed = |text: &str| -> Vector { embedder.embed_one(text) };
    let embed: Option<&dyn Fn(&str) -> Vector> = if flags.is_empty() { Some(&embed) } else { None };
    let figures = measure(&json, &Weights::default(), embed)?;
    let line = serde_json::to_string(&figures).map_err(|error| error.to_string())?;
    writeln!(io::stdout(), "{line}").map_err(|error| error.to_string())
}
