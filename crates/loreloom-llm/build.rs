//! Lays out OpenAI's vocabularies as the tokenizers use them.

#[path = "src/tokenizers/table.rs"]
#[expect(dead_code, reason = "the tokenizers look up, this only lays out")]
mod table;

use std::{env, error::Error, fs, path::Path};

use tiktoken_rs::CoreBPE;

use self::table::{size, walk};

/// More than the largest vocabulary has.
const MOST_TOKENS: u32 = 210_000;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/tokenizers/table.rs");
    let folder = env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?;
    for (name, bpe) in [
        ("o200k_base", tiktoken_rs::o200k_base()?),
        ("cl100k_base", tiktoken_rs::cl100k_base()?),
        ("p50k_base", tiktoken_rs::p50k_base()?),
        ("r50k_base", tiktoken_rs::r50k_base()?),
    ] {
        #[expect(clippy::disallowed_methods, reason = "cargo made the folder for this file")]
        fs::write(Path::new(&folder).join(name), lay_out(&tokens_of(&bpe)))?;
    }
    Ok(())
}

/// The tokens by rank; a rank of no token, or of a special one, is empty.
fn tokens_of(bpe: &CoreBPE) -> Vec<Vec<u8>> {
    let special = bpe.special_tokens();
    let is_special = |token: &Vec<u8>| special.iter().any(|one| one.as_bytes() == *token);
    let token = |rank| bpe.decode_bytes(&[rank]).ok().filter(|token| !is_special(token));
    let mut tokens: Vec<Vec<u8>> =
        (0..MOST_TOKENS).map(|rank| token(rank).unwrap_or_default()).collect();
    tokens.truncate(tokens.iter().rposition(|token| !token.is_empty()).map_or(0, |last| last + 1));
    tokens
}

/// Lays out tokens, each at its rank; an empty one is none.
fn lay_out(tokens: &[Vec<u8>]) -> Vec<u8> {
    let mut places = vec![0_u32; size(tokens.len())];
    for (token, rank) in tokens.iter().zip(1_u32..).filter(|(token, _)| !token.is_empty()) {
        if let Some(free) = walk(token, places.len()).find(|&at| places[at] == 0) {
            places[free] = rank;
        }
    }
    let mut end = 0;
    let ends = tokens.iter().map(|token| {
        end += token.len();
        end
    });
    let numbers = std::iter::once(tokens.len()).chain(ends);
    let numbers = numbers.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    let mut bytes: Vec<u8> = numbers.chain(places).flat_map(u32::to_le_bytes).collect();
    bytes.extend(tokens.iter().flatten());
    bytes
}
