//! Finding keys in text: one pass over each text serves every key of every book.
//!
//! Literal keys of all books share one [`LiteralIndex`] per folding; a text's hits are
//! kept by its content ([`HitCache`]), so a turn costs its new text, not its window.

mod fold;
mod hits;
mod literal;
mod regex;
mod tally;
mod word;

pub use self::{
    fold::{Blanks, Folding, Padded, raw_span},
    hits::{HitCache, Hits, PatternHit, ScanText},
    literal::{LiteralIndex, PatternId},
    regex::{JsRegex, RegexMatch, RegexOutcome, RegexText, StepLimits, Steps},
    tally::{Tallies, Tally},
    word::WordRule,
};
