//! How do I keep stories in my own database?
//!
//! A story is its messages and a `StoryState` (timed effects, counters, variables). Both are
//! plain data: store them as you like and go on later.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;

use loreloom_core::{
    chat::{Message, Role},
    state::StoryState,
    story::Engine,
};
use loreloom_formats::{ImportOptions, import};

fn main() -> Result<(), Box<dyn Error>> {
    let file = include_bytes!("harbour.json");
    let engine = Engine::new([import(file, &ImportOptions::new("harbour"))?.book]);

    let mut story = engine.story("first");
    story.say(Message::new(Role::User, None, "The tower is tall."));
    story.weave();
    let (messages, state) = (story.messages(), serde_json::to_string(&story.state())?);
    println!("stored: {} message, state {state}", messages.len());

    // Another day, another process.
    let state: StoryState = serde_json::from_str(&state)?;
    let mut story = engine.resume("first", messages, state);
    story.say(Message::new(Role::Assistant, None, "It is."));
    story.say(Message::new(Role::User, None, "And old?"));
    let turn = story.weave();
    // The tower is sticky: it stays for four messages.
    for injection in turn.injections() {
        println!("woven: {}", injection.text);
    }
    Ok(())
}
