//! SillyTavern's World Info: its scan loop, groups, timed effects and budget, composed of
//! the shared stages.
//!
//! `sillytavern-1.19` is the recorded behaviour to the letter; our own default differs
//! only where a peer's defect would lose lore ([`Quirks`]).

mod activation;
mod budget;
mod cause;
mod decorators;
mod fingerprint;
mod groups;
mod js_text;
mod near;
mod output;
mod pass;
#[cfg(test)]
mod properties;
mod rules;
mod seat;
#[cfg(test)]
mod tests;
mod timed;
mod untouched;

pub(crate) use self::{
    activation::{check_filters, delayed, passes},
    fingerprint::{leaves_logic_open, missing_uid},
    output::sent_text,
    timed::Effects,
};
pub use self::{
    decorators::{Decorated, split_decorators},
    fingerprint::{cyrb53, fingerprint},
    output::{Bucket, DEFAULT_DEPTH, Placed, format_world_info, place},
    pass::{Activated, Pass, Scan, scan, scan_wrapping},
    rules::{Quirks, Strategy, VectorRules, WorldInfoRules},
    untouched::judge_untouched,
};
