//! The tokenizer a command counts with.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use clap::Args;
use loreloom_core::tokens::TokenCounter;
use loreloom_llm::tokenizers::{Tokenizer, TokenizerChoice};
use loreloom_server::Counting;

use crate::{config::fixed, files};

/// How tokens are counted.
#[derive(Clone, Debug, Args)]
pub(crate) struct TokenizerArguments {
    /// `auto`, `o200k_base`, `cl100k_base`, `p50k_base`, `r50k_base`, `estimate`, `bytes`,
    /// or a tokenizer.json file [default: auto]
    #[arg(long, value_name = "NAME|FILE")]
    tokenizer: Option<String>,

    /// The model's name, which decides for `--tokenizer auto`
    #[arg(long, default_value = "", value_name = "NAME")]
    model: String,
}

impl TokenizerArguments {
    /// How tokens are counted if these arguments say so; else it is left to the connection.
    pub(crate) fn counting(&self) -> anyhow::Result<Option<Counting>> {
        if self.tokenizer.is_none() && self.model.is_empty() {
            return Ok(None);
        }
        Ok(Some(fixed(self.load()?)))
    }

    /// The tokenizer.
    pub(crate) fn load(&self) -> anyhow::Result<Arc<dyn TokenCounter>> {
        let name = self.tokenizer.as_deref().unwrap_or("auto");
        let named: Result<TokenizerChoice, _> =
            serde_json::from_value(serde_json::Value::String(name.to_owned()));
        let tokenizer = if let Ok(choice) = named {
            Tokenizer::new(&choice, &self.model, None)?
        } else {
            let path = PathBuf::from(name);
            let bytes = files::read(&path)
                .with_context(|| format!("`{name}` is neither a known tokenizer nor a file"))?;
            Tokenizer::from_file(&files::stem(&path), &bytes)?
        };
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
