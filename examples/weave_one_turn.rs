//! How do I get the prompt for one turn?
//!
//! Reads a lorebook of any format, adds one message and prints the prompt for the reply.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;

use loreloom_core::{
    assemble::PromptTexts,
    chat::{Message, Role},
    story::Engine,
};
use loreloom_formats::{ImportOptions, import};

fn main() -> Result<(), Box<dyn Error>> {
    let file = include_bytes!("harbour.json");
    let book = import(file, &ImportOptions::new("harbour"))?.book;
    let engine = Engine::new([book]);

    let mut story = engine.story("first").with_user("Wren").with_character("Mira");
    story.say(Message::new(Role::User, Some("Wren"), "Who rang the bell?"));
    let turn = story.weave();

    let texts = PromptTexts { main: "You are Mira.".to_owned(), ..PromptTexts::default() };
    for message in turn.prompt(&texts).messages {
        println!("{}: {}", message.role.as_str(), message.content);
    }
    Ok(())
}
