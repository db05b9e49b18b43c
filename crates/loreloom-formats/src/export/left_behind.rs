//! Files that come with a card: pictures and assets.
//!
//! They do not belong to a book, and a card in another kind of file loses them. The export reports
//! that.

use loreloom_core::book::Container;
use serde_json::{Value, json};

use super::{ExportOptions, Loss};
use crate::{
    archive::{self, Archive},
    detect::Format,
    json::says_nothing,
    note::Notes,
    png,
};

/// How an asset's address begins whose file travels with the card.
const ABOARD: [&str; 3] = ["embeded://", "embedded://", "__asset:"];

/// What is in the file that the card came from and not in the one it goes to.
pub(super) fn losses(options: &ExportOptions<'_>, format: Format) -> Vec<Loss> {
    let loss = |field: String, value: Value| Loss { entry: None, field, value };
    let Some(original) = options.original else {
        // Only the card names its assets.
        let assets = options.card.map_or(&[][..], |card| &card.assets).iter();
        let aboard = assets.filter(|one| ABOARD.iter().any(|mark| one.uri.starts_with(mark)));
        return aboard.map(|one| loss(format!("files.{}", one.name), json!(one.uri))).collect();
    };
    let mut losses = Vec::new();
    if original.starts_with(&png::SIGNATURE) {
        if format.container() == Container::Png {
            return losses;
        }
        losses.push(loss("picture".to_owned(), json!(original.len())));
        let assets = png::assets(original).into_iter();
        losses.extend(assets.map(|(name, bytes)| loss(format!("files.{name}"), json!(bytes))));
        return losses;
    }
    let is_picture = original.starts_with(&[0xFF, 0xD8, 0xFF]) || original.starts_with(b"RIFF");
    if is_picture {
        losses.push(loss("picture".to_owned(), json!(original.len())));
    }
    let mut files = archive::files(original);
    let character = read_character(original, options);
    files.retain(|file| !is_read(&file.name, character.as_deref()));
    if options.card.is_some() {
        let (scenarios, others) = files.into_iter().partition(|file| is_scenario(&file.name));
        files = others;
        losses.extend(scenario_losses(original, &scenarios, options));
    }
    let others = files.into_iter();
    losses.extend(others.map(|file| loss(format!("files.{}", file.name), json!(file.size))));
    losses
}

/// What a card does not say of the scenarios of a Backyard archive: chats, settings of the model,
/// and what scenarios after the first say besides a greeting.
fn scenario_losses(
    original: &[u8],
    scenarios: &[archive::Listed],
    options: &ExportOptions<'_>,
) -> Vec<Loss> {
    const OF_EACH: [&str; 2] = ["schemaVersion", "canDeleteExampleMessages"];
    const OF_FIRST: [&str; 3] = ["narrative", "formattingInstructions", "exampleMessages"];
    let mut losses = Vec::new();
    let Ok(mut archive) = Archive::open(original, &options.limits, &mut Notes::default()) else {
        return losses;
    };
    for (at, file) in scenarios.iter().enumerate() {
        let parsed = archive.read(&file.name).ok();
        let parsed = parsed.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let Some(Value::Object(scenario)) = parsed else {
            let field = format!("files.{}", file.name);
            losses.push(Loss { entry: None, field, value: json!(file.size) });
            continue;
        };
        let is_said = |key: &str| OF_EACH.contains(&key) || at == 0 && OF_FIRST.contains(&key);
        for (key, value) in scenario.into_iter().filter(|(key, _)| !is_said(key)) {
            if says_nothing(&value) {
                continue;
            }
            let value = match (key.as_str(), value) {
                // The first one is a greeting of the card.
                ("firstMessages", Value::Array(items)) if items.len() < 2 => continue,
                ("firstMessages", Value::Array(items)) => Value::Array(items[1..].to_vec()),
                ("messages", Value::Array(items)) => {
                    json!(format!("a chat of {} messages", items.len()))
                }
                (_, value) => value,
            };
            losses.push(Loss { entry: None, field: format!("{}.{key}", file.name), value });
        }
    }
    losses
}

fn is_scenario(name: &str) -> bool {
    let is_json = std::path::Path::new(name).extension().is_some_and(|one| one == "json");
    name.starts_with("scenarios/") && is_json
}

/// The character of a Backyard archive that is read: the first of its manifest.
fn read_character(original: &[u8], options: &ExportOptions<'_>) -> Option<String> {
    let mut archive = Archive::open(original, &options.limits, &mut Notes::default()).ok()?;
    let manifest: Value = serde_json::from_slice(&archive.read("manifest.json").ok()?).ok()?;
    let names = manifest.get("characters")?.as_array()?;
    names.iter().find_map(Value::as_str).map(str::to_owned)
}

/// Whether a file of an archive is one that we read.
fn is_read(name: &str, character: Option<&str>) -> bool {
    ["card.json", "module.risum", "manifest.json"].contains(&name) || character == Some(name)
}
