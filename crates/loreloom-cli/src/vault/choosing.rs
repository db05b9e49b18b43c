//! The model that selects notes of vaults.

use std::sync::Arc;

use clap::Args;
use loreloom_core::dialects::vault::SelectionRules;
use loreloom_ports::ChatModel;
use loreloom_server::{Choosing, vault_select::AskRules};
use loreloom_settings::Settings;

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

    /// The model that selects notes for a command without a server; `None` if keys alone decide.
    pub(crate) fn chooser(
        &self,
        settings: &Settings,
    ) -> anyhow::Result<Option<Box<dyn ChatModel>>> {
        let mode = &settings.vault.selection.mode;
        let mode = serde_json::to_value(mode)?.as_str().unwrap_or_default().to_owned();
        if settings.vault.selection.rules().is_none() {
            anyhow::ensure!(
                self.selector_model.is_none(),
                "`--selector-model` needs `--vault-mode two-stage` or `ai-only`"
            );
            return Ok(None);
        }
        let named =
            self.selector_model.as_ref().and_then(|one| Some((&one.name, one.url.as_ref()?)));
        let Some((name, url)) = named else {
            anyhow::bail!(
                "with `vault.selection.mode` `{mode}` a model selects the notes: name it with \
                 `--selector-model NAME@URL`, or use `--vault-mode keyword`"
            )
        };
        ModelArguments::at(url, name, None, settings.story.context).open().map(Some)
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
