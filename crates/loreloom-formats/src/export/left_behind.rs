//! Files that come with a card: pictures and assets.
//!
//! They do not belong to a book, and a card in another kind of file loses them. The export reports
//! that.

use loreloom_core::book::Container;
use serde_json::{Value, json};

use super::{ExportOptions, Loss};
use crate::{archive, detect::Format, png};

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
    let others = archive::files(original).into_iter().filter(|file| !is_read(&file.name));
    losses.extend(others.map(|file| loss(format!("files.{}", file.name), json!(file.size))));
    losses
}

/// Whether a file of an archive is one that we read.
fn is_read(name: &str) -> bool {
    let is_character = name.starts_with("characters/") && name.ends_with("/character.json");
    ["card.json", "module.risum", "manifest.json"].contains(&name) || is_character
}
