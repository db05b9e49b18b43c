//! Lays out OpenAI's vocabularies as the tokenizers use them.

use std::{env, error::Error, fs, path::Path};

use tiktoken_rs::CoreBPE;

/// More than the largest vocabulary has.
const MOST_TOKENS: u32 = 210_000;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?;
    for (name, bpe) in [
        ("o200k_base", tiktoken_rs::o200k_base()?),
        ("cl100k_base", tiktoken_rs::cl100k_base()?),
        ("p50k_base", tiktoken_rs::p50k_base()?),
        ("r50k_base", tiktoken_rs::r50k_base()?),
    ] {
        #[expect(clippy::disallowed_methods, reason = "cargo made the folder for this file")]
        fs::write(Path::new(&folder).join(name), lay_out(&tokens_of(&bpe))?)?;
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

/// The number of tokens, the length of each, and the tokens by rank; an empty one is none.
fn lay_out(tokens: &[Vec<u8>]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = u32::try_from(tokens.len())?.to_le_bytes().to_vec();
    for token in tokens {
        bytes.push(u8::try_from(token.len())?);
    }
    bytes.extend(tokens.iter().flatten());
    Ok(bytes)
}
