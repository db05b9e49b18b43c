//! What the scene is like, as the command line says it.

use clap::Args;
use loreloom_core::{book::Extensions, dialects::vault::NoteMark, turn::VaultContext};
use serde_json::Value;

/// What the scene is like, for the notes of vaults.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SceneArguments {
    /// What a field of the scene is, such as `era=old` or `location=harbour`; a field given
    /// twice has both values
    #[arg(help_heading = "Vaults", long = "scene", value_name = "FIELD=VALUE", value_parser = field)]
    fields: Vec<(String, String)>,

    /// A note that must be in, by its title or as `VAULT:TITLE`; may be given several times
    #[arg(help_heading = "Vaults", long = "pin", value_name = "TITLE")]
    pins: Vec<String>,

    /// A note that must not be in; may be given several times
    #[arg(help_heading = "Vaults", long = "block", value_name = "TITLE")]
    blocks: Vec<String>,

    /// Only notes of this folder of the vault, and those outside all folders; may be given
    /// several times
    #[arg(help_heading = "Vaults", long = "folder", value_name = "FOLDER")]
    folders: Vec<String>,
}

fn field(text: &str) -> anyhow::Result<(String, String)> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        Some(_) | None => anyhow::bail!("a scene is given as `FIELD=VALUE`, found `{text}`"),
    }
}

impl SceneArguments {
    /// The scene; vaults by these names may be named in marks.
    pub(crate) fn scene(&self, vaults: &[&str]) -> VaultContext {
        let mut context = Extensions::new();
        for (name, value) in &self.fields {
            let value = Value::from(value.as_str());
            match context.get_mut(name) {
                Some(Value::Array(values)) => values.push(value),
                Some(first) => *first = Value::Array(vec![first.take(), value]),
                None => {
                    context.insert(name.clone(), value);
                }
            }
        }
        let mark = |text: &String| match text.split_once(':') {
            Some((vault, title)) if vaults.contains(&vault) => {
                NoteMark { title: title.to_owned(), vault: Some(vault.to_owned()) }
            }
            Some(_) | None => NoteMark { title: text.clone(), vault: None },
        };
        VaultContext {
            context,
            folders: self.folders.clone(),
            pins: self.pins.iter().map(mark).collect(),
            blocks: self.blocks.iter().map(mark).collect(),
        }
    }
}
