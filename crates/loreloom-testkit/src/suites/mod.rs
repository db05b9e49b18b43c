//! The peers' recorded cases, one module each.

mod cards;
mod formats;
mod memory;
mod traffic;
mod vault;
mod worldinfo;

pub use self::traffic::Judge as TrafficJudge;

use crate::conformance::Suite;

/// The names of all suites.
pub const NAMES: [&str; 7] =
    ["worldinfo", "vault", "memory", "formats", "traffic", "cards", "sources"];

/// The suite of that name.
pub fn named(name: &str) -> Option<Box<dyn Suite>> {
    match name {
        "cards" | "sources" => Some(Box::new(cards::Cards)),
        "memory" => Some(Box::new(memory::Memory)),
        "worldinfo" => Some(Box::new(worldinfo::WorldInfo)),
        "traffic" => Some(Box::new(traffic::Traffic::default())),
        "formats" => Some(Box::new(formats::Formats::default())),
        "vault" => Some(Box::new(vault::Vault)),
        _ => None,
    }
}

/// Whether a file is a case file by its name.
fn is_json(relative: &str) -> bool {
    std::path::Path::new(relative).extension().is_some_and(|extension| extension == "json")
}
