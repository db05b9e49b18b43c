//! The model that selects notes of vaults.

use std::sync::Arc;

use clap::Args;
use loreloom_core::dialects::vault::SelectionRules;
use loreloom_server::{Choosing, vault_select::AskRules};

use crate::model::{ModelArguments, ModelName};

/// The model that selects notes.
#[derive(Clone, Debug, Args)]
pub(crate) struct SelectorArguments {
    /// The model that selects notes with `--vault-mode two-stage` and `ai-only`
    #[arg(help_heading = "Models", long, value_name = "NAME[@URL]")]
    selector_model: Option<ModelName>,
}

impl SelectorArguments {
    /// Whether a model is named here.
    pub(crate) fn is_named(&self) -> bool {
        self.selector_model.is_some()
    }

    /// How notes are selected, and by the model named here; else by the one that is chosen while
    /// the server runs. `elsewhere`: the configuration or the API names one.
    pub(crate) fn open(
        &self,
        rules: Option<&SelectionRules>,
        asking: AskRules,
        elsewhere: bool,
        (upstream, key_env, context): (&str, Option<&str>, u32),
    ) -> anyhow::Result<Choosing> {
        if rules.is_none() {
            anyhow::ensure!(
                self.selector_model.is_none(),
                "`--selector-model` needs `--vault-mode two-stage` or `ai-only`"
            );
        }
        anyhow::ensure!(
            rules.is_none() || elsewhere || self.is_named(),
            "name the model that selects notes with `--selector-model NAME`"
        );
        let Some(named) = &self.selector_model else { return Ok(Choosing::nobody(asking)) };
        let url = named.url.as_deref().unwrap_or(upstream);
        // A key is for the server it was given for.
        let key_env = key_env.filter(|_| named.url.is_none());
        let model = ModelArguments::at(url, &named.name, key_env, context).open()?;
        Ok(Choosing::new(Arc::from(model), asking))
    }
}
