//! Books of character cards: decorators in the text, one pool, one slot.
//!
//! All attached card books scan together. Keys, gates and chance decide which entries
//! are active, up to three passes; priority decides which of those survive the budget,
//! order where they go. What the peers do differently is data ([`CardRules`]); where
//! they are at odds with their own documents, the default follows the documents.
//!
//! Inclusion groups are World Info's and are not looked at here.

mod comments;
mod compile;
mod compose;
mod decorators;
mod fit;
mod grammar;
mod judge;
mod keys;
mod output;
mod pass;
mod rules;
mod source_rules;
mod terms;
#[cfg(test)]
mod tests;
mod window;

pub(crate) use self::{
    compile::{CardEntry, CopyOf},
    keys::resolve as resolve_key,
    output::contribute,
    pass::judge_untouched,
    source_rules::source_rules_with,
};
pub use self::{
    decorators::{Directives, FrontEndFacts, Greeting, InjectDirective, InjectTarget, Problem},
    grammar::{Chain, DecoratorBlock, Grammar, Line, list, split},
    rules::{
        CardRules, Cost, Feed, MessageBasis, MissingPriority, Overflow, RecursionScope, Repeats,
        Ties, Vocabulary,
    },
    source_rules::source_rules,
};
