//! How do I count tokens with my own tokenizer?
//!
//! Budgets are in tokens, so the engine asks a `TokenCounter`. Without one it estimates from
//! bytes.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;

use loreloom_core::{
    chat::{Message, Role},
    story::Engine,
    tokens::TokenCounter,
    units::Tokens,
};
use loreloom_formats::{ImportOptions, import};

/// Counts words; a real one calls the tokenizer of its model.
struct Words;

impl TokenCounter for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn count(&self, text: &str) -> Tokens {
        Tokens(u32::try_from(text.split_whitespace().count()).unwrap_or(u32::MAX))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = include_bytes!("harbour.json");
    let book = import(file, &ImportOptions::new("harbour"))?.book;
    let engine = Engine::new([book]).with_counter(Words);
    let mut story = engine.story("first").with_context(Tokens(100));
    story.say(Message::new(Role::User, None, "The tower has a bell."));
    for budget in &story.weave().decision().report.budgets {
        println!("{}: {} of {} tokens", budget.pool, budget.used.0, budget.limit.0);
    }
    Ok(())
}
