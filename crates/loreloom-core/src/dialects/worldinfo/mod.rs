//! SillyTavern's World Info: its scan loop, groups, timed effects and budget, composed of
//! the shared stages.
//!
//! `sillytavern-1.19` is the recorded behaviour to the letter; our own default differs
//! only where a peer's defect would lose lore ([`Quirks`]).

mod candidate;
mod decorators;
mod fingerprint;
mod fit;
mod groups;
mod js_text;
mod judge;
mod near;
mod output;
mod pass;
#[cfg(test)]
mod properties;
mod rules;
#[cfg(test)]
mod tests;

pub use self::{
    decorators::{Decorated, split_decorators},
    fingerprint::{cyrb53, fingerprint},
    output::{PlacedEntry, place},
    pass::{Activated, Pass, Scan, scan},
    rules::{Quirks, Strategy, VectorRules, WorldInfoRules},
};
pub(crate) use self::{
    fingerprint::{leaves_logic_open, missing_uid, sent_fingerprint},
    judge::judge_untouched,
    output::{contribute, sent_text},
};
