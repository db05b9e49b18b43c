//! How a model chooses among the notes of vaults, as arguments and settings files say it.

use std::{sync::Arc, time::Duration};

use clap::{Args, ValueEnum};
use loreloom_core::dialects::vault::{
    OnFailure, OnNothing, SelectFrom, SelectionRules, SummaryMode, Threshold,
};
use loreloom_server::Choosing;
use loreloom_server::vault_select::AskRules;
use serde_json::{Map, Value};

use crate::model::ModelArguments;

/// Whether a model chooses, and what follows from its choice.
#[derive(Clone, Debug, Default, Args)]
#[expect(clippy::struct_field_names, reason = "the names of the options")]
pub(crate) struct SelectionArguments {
    /// Who decides which notes a turn needs [default: keyword]
    #[arg(help_heading = "Vaults", long, value_enum)]
    vault_mode: Option<ModeName>,

    /// How sure the choosing model must be [default: low]
    #[arg(help_heading = "Vaults", long, value_enum)]
    vault_confidence: Option<ThresholdName>,

    /// What goes on when the choosing model fails [default: keyword; candidates with ai-only]
    #[arg(help_heading = "Vaults", long, value_enum)]
    vault_on_failure: Option<FailureName>,

    /// What goes on when the choosing model chooses nothing [default: constants]
    #[arg(help_heading = "Vaults", long, value_enum)]
    vault_on_nothing: Option<NothingName>,

    /// What the choosing model is surer of comes first, before priority counts
    #[arg(help_heading = "Vaults", long)]
    pub(super) vault_by_confidence: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeName {
    /// Their keys
    Keyword,
    /// Keys bring notes up, a model chooses among them
    TwoStage,
    /// A model chooses from the whole vault
    AiOnly,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ThresholdName {
    Low,
    Medium,
    High,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FailureName {
    /// All it could choose from, most important first
    Candidates,
    /// What keys brought up
    Keyword,
    /// Constants
    Constants,
    /// Constants and notes for new chats
    Bootstrap,
    /// Nothing
    Nothing,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NothingName {
    /// Constants
    Constants,
    /// Constants and notes for new chats
    Bootstrap,
    /// What keys brought up
    Keyword,
    /// Nothing
    Nothing,
}

impl SelectionArguments {
    /// What arguments and a settings file come to; arguments win. `None`: keys decide.
    pub(super) fn rules(
        &self,
        file: &Map<String, Value>,
        own: SelectionRules,
    ) -> Option<SelectionRules> {
        let text = |name: &str| file.get(name).and_then(Value::as_str);
        let mode = self.vault_mode.or_else(|| {
            let on = file.get("aiSearchEnabled") == Some(&Value::Bool(true));
            on.then(|| match text("aiSearchMode") {
                Some("ai-only") => ModeName::AiOnly,
                _ => ModeName::TwoStage,
            })
        });
        let from = match mode? {
            ModeName::Keyword => return None,
            ModeName::TwoStage => SelectFrom::Matches,
            ModeName::AiOnly => SelectFrom::Vault,
        };
        let confidence = match (self.vault_confidence, text("aiConfidenceThreshold")) {
            (Some(ThresholdName::High), _) | (None, Some("high")) => Threshold::High,
            (Some(ThresholdName::Medium), _) | (None, Some("medium")) => Threshold::Medium,
            (Some(ThresholdName::Low) | None, _) => Threshold::Low,
        };
        Some(SelectionRules {
            from,
            confidence,
            on_failure: self.on_failure(text("aiErrorFallback")).unwrap_or(own.on_failure),
            on_nothing: self.on_nothing(text("aiEmptyFallback")).unwrap_or(own.on_nothing),
        })
    }

    fn on_failure(&self, file: Option<&str>) -> Option<OnFailure> {
        match (self.vault_on_failure, file) {
            (Some(FailureName::Candidates), _) => Some(OnFailure::Candidates),
            (Some(FailureName::Keyword), _) | (None, Some("keyword")) => Some(OnFailure::Matches),
            (Some(FailureName::Constants), _) | (None, Some("constants_only")) => {
                Some(OnFailure::Constants)
            }
            (Some(FailureName::Bootstrap), _) | (None, Some("bootstrap_only")) => {
                Some(OnFailure::Forced)
            }
            (Some(FailureName::Nothing), _) | (None, Some("none")) => Some(OnFailure::Nothing),
            (None, _) => None,
        }
    }

    fn on_nothing(&self, file: Option<&str>) -> Option<OnNothing> {
        match (self.vault_on_nothing, file) {
            (Some(NothingName::Constants), _) | (None, Some("constants")) => {
                Some(OnNothing::Constants)
            }
            (Some(NothingName::Bootstrap), _) | (None, Some("constants_bootstrap")) => {
                Some(OnNothing::Forced)
            }
            (Some(NothingName::Keyword), _) | (None, Some("keyword")) => Some(OnNothing::Matches),
            (Some(NothingName::Nothing), _) | (None, Some("none")) => Some(OnNothing::Nothing),
            (None, _) => None,
        }
    }
}

/// How a model is asked, as a settings file says it.
pub(super) fn asking(file: &Map<String, Value>) -> AskRules {
    let own = AskRules::default();
    let number = |name: &str| file.get(name).and_then(Value::as_f64).filter(|one| *one >= 0.0);
    // Numbers that were brought into their range are no longer whole to JSON.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, which is what is wanted"
    )]
    let whole = |name: &str| number(name).map(|number| number.round() as u64);
    let small = |name: &str, own: u32| {
        whole(name).and_then(|number| u32::try_from(number).ok()).unwrap_or(own)
    };
    let narrow = file.get("hierarchicalPreFilter") == Some(&Value::Bool(true));
    AskRules {
        timeout: whole("aiSearchTimeout").map_or(own.timeout, Duration::from_millis),
        answer_tokens: small("aiSearchMaxTokens", own.answer_tokens),
        depth: small("aiSearchScanDepth", own.depth),
        summary: match file.get("manifestSummaryMode").and_then(Value::as_str) {
            Some("summary_only") => SummaryMode::SummaryOnly,
            Some("content_only") => SummaryMode::ContentOnly,
            Some(_) | None => own.summary,
        },
        summary_length: whole("aiSearchManifestSummaryLength")
            .and_then(|length| usize::try_from(length).ok())
            .unwrap_or(own.summary_length),
        narrow: narrow.then(|| number("hierarchicalAggressiveness").unwrap_or(0.8)),
        system: file
            .get("aiSearchSystemPrompt")
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned),
        ..own
    }
}

/// The model that chooses.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_field_names, reason = "the names of the options")]
pub(crate) struct SelectorArguments {
    /// The model that chooses notes with `--vault-mode two-stage` and `ai-only`
    #[arg(help_heading = "Vaults", long, value_name = "NAME")]
    selector_model: Option<String>,

    /// That model's server, if it is another than the upstream
    #[arg(help_heading = "Vaults", long, value_name = "URL")]
    selector_url: Option<String>,

    /// The environment variable that holds its key, if it is another than the upstream's
    #[arg(help_heading = "Vaults", long, value_name = "VARIABLE")]
    selector_key_env: Option<String>,

    /// The longest a turn waits for its choice, in seconds [default: 20]
    #[arg(help_heading = "Vaults", long, value_name = "SECONDS")]
    selector_timeout: Option<f64>,

    /// In large vaults it first chooses topics, which may leave out this share of the notes
    #[arg(help_heading = "Vaults", long, value_name = "SHARE")]
    selector_narrow: Option<f64>,
}

impl SelectorArguments {
    /// Whether a model is named here.
    pub(crate) fn is_named(&self) -> bool {
        self.selector_model.is_some()
    }

    /// How notes are chosen, and by the model named here, whose unnamed parts are the
    /// upstream's; else by whoever is named while the server runs. `elsewhere`: somebody is
    /// named by the configuration or the API.
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
                "`--selector-model` chooses with `--vault-mode two-stage` or `ai-only`"
            );
        }
        let url = self.selector_url.as_deref().unwrap_or(upstream);
        let key_env = match (&self.selector_key_env, &self.selector_url) {
            (Some(variable), _) => Some(variable.as_str()),
            (None, None) => key_env,
            // A key is for the server it was given for.
            (None, Some(_)) => None,
        };
        anyhow::ensure!(
            rules.is_none() || elsewhere || self.is_named(),
            "say which model chooses notes with `--selector-model NAME`"
        );
        let model = self.selector_model.as_deref();
        let model = model.map(|name| ModelArguments::at(url, name, key_env, context).open());
        let mut asking = asking;
        if let Some(seconds) = self.selector_timeout {
            let timeout = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
            asking.timeout = timeout.ok_or_else(|| {
                anyhow::anyhow!("`--selector-timeout` is a number of seconds, found {seconds}")
            })?;
        }
        if let Some(share) = self.selector_narrow {
            anyhow::ensure!(
                (0.0..=0.8).contains(&share),
                "`--selector-narrow` is a share from 0 to 0.8, found {share}"
            );
            asking.narrow = Some(share);
        }
        Ok(match model.transpose()? {
            Some(model) => Choosing::new(Arc::from(model), asking),
            None => Choosing::nobody(asking),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn deeplores_settings_say_how_a_model_is_asked_and_arguments_win() {
        let Value::Object(file) = json!({
            "aiSearchEnabled": true, "aiSearchMode": "ai-only", "aiConfidenceThreshold": "high",
            "aiErrorFallback": "constants_only", "aiEmptyFallback": "keyword",
            "aiSearchTimeout": 5000, "aiSearchScanDepth": 6, "hierarchicalPreFilter": true,
            "aiSearchSystemPrompt": " Pick {{maxEntries}}. ",
        }) else {
            panic!("an object")
        };
        let rules = SelectionArguments::default().rules(&file, SelectionRules::default());
        let expected = SelectionRules {
            from: SelectFrom::Vault,
            confidence: Threshold::High,
            on_failure: OnFailure::Constants,
            on_nothing: OnNothing::Matches,
        };
        assert_eq!(rules, Some(expected));
        let mut clamped = file.clone();
        loreloom_formats::vault::clamp_known(&mut clamped);
        let asking = asking(&clamped);
        assert_eq!((asking.timeout, asking.depth), (Duration::from_secs(5), 6));
        assert_eq!(asking.narrow, Some(0.8));
        assert_eq!(asking.system.as_deref(), Some("Pick {{maxEntries}}."));
        let off = SelectionArguments {
            vault_mode: Some(ModeName::Keyword),
            ..SelectionArguments::default()
        };
        assert_eq!(off.rules(&file, SelectionRules::default()), None);
    }
}
