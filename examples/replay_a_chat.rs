//! What would my lorebook have done in a whole chat?
//!
//! Goes through a chat message by message. Timed effects (sticky, cooldown, delay) carry over
//! from turn to turn.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;

use loreloom_core::{
    chat::{Message, Role},
    story::Engine,
};
use loreloom_formats::{ImportOptions, import};

const CHAT: [(Role, &str); 6] = [
    (Role::User, "The tower is tall."),
    (Role::Assistant, "It has seen better days."),
    (Role::User, "And who lives here?"),
    (Role::Assistant, "Nobody, since the storm."),
    (Role::User, "Then who rang the bell?"),
    (Role::Assistant, "The wind, they say."),
];

fn main() -> Result<(), Box<dyn Error>> {
    let file = include_bytes!("harbour.json");
    let engine = Engine::new([import(file, &ImportOptions::new("harbour"))?.book]);
    let mut story = engine.story("replayed");
    for (role, text) in CHAT {
        story.say(Message::new(role, None, text));
        if role == Role::User {
            let turn = story.weave();
            let texts: Vec<&str> = turn.injections().iter().map(|one| one.text.as_str()).collect();
            println!("{text}  ->  {texts:?}");
        }
    }
    Ok(())
}
