//! The tokenizer a command counts with.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::tokens::TokenCounter;
use loreloom_llm::tokenizers::{Tokenizer, TokenizerChoice};

use crate::files;

/// How tokens are counted.
#[derive(Clone, Debug, Args)]
pub(crate) struct TokenizerArguments {
    /// `auto`, `o200k_base`, `cl100k_base`, `p50k_base`, `r50k_base`, `estimate`, `bytes`,
    /// or a tokenizer.json file
    #[arg(long, default_value = "auto", value_name = "NAME|FILE")]
    tokenizer: String,

    /// The model's name, which decides for `--tokenizer auto`
    #[arg(long, default_value = "", value_name = "NAME")]
    model: String,
}

impl TokenizerArguments {
    /// Loads the tokenizer.
    pub(crate) fn load(&self) -> anyhow::Result<Arc<dyn TokenCounter>> {
        let named: Result<TokenizerChoice, _> =
            serde_json::from_value(serde_json::Value::String(self.tokenizer.clone()));
        let tokenizer = if let Ok(choice) = named {
            Tokenizer::new(&choice, &self.model, None)?
        } else {
            let path = PathBuf::from(&self.tokenizer);
            let bytes = files::read(&path).with_context(|| {
                format!("`{}` is neither a known tokenizer nor a file", self.tokenizer)
            })?;
            Tokenizer::from_file(&files::stem(&path), &bytes)?
        };
        tokenizer.warm();
        Ok(Arc::new(tokenizer))
    }
}

/// The tokenizer that a stored turn was counted with. `arguments` decide if the turn's is a
/// file, which only the user can name.
pub(crate) fn of_turn(
    name: &str,
    arguments: &TokenizerArguments,
) -> anyhow::Result<Arc<dyn TokenCounter>> {
    match TokenizerChoice::from_name(name) {
        Some(choice) => Ok(Arc::new(Tokenizer::new(&choice, "", None)?)),
        None => arguments.load(),
    }
}
