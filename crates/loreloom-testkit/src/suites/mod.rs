//! The peers' recorded cases, one module each.

mod traffic;
mod unbuilt;
mod worldinfo;

use crate::conformance::Suite;

/// The names of all suites.
pub const NAMES: [&str; 5] = ["worldinfo", "vault", "memory", "formats", "traffic"];

/// The suite of that name.
pub fn named(name: &str) -> Option<Box<dyn Suite>> {
    match name {
        "worldinfo" => Some(Box::new(worldinfo::WorldInfo)),
        "vault" | "memory" | "formats" => Some(Box::new(unbuilt::Unbuilt)),
        "traffic" => Some(Box::new(traffic::Traffic::default())),
        _ => None,
    }
}
