//! Why did an entry not fire, and what would help?
//!
//! Prints a reason for every entry, and for those that are out the smallest change that was
//! tried and works.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;

use loreloom_core::{
    chat::{Message, Role},
    explain,
    story::Engine,
};
use loreloom_formats::{ImportOptions, import};

fn main() -> Result<(), Box<dyn Error>> {
    let file = include_bytes!("harbour.json");
    let engine = Engine::new([import(file, &ImportOptions::new("harbour"))?.book]);
    let mut story = engine.story("first").with_user("Wren");
    story.say(Message::new(Role::User, Some("Wren"), "Who rang the bell?"));

    let turn = story.weave();
    for (verdict, reason) in turn.reasons() {
        println!("{}: {reason}", verdict.title);
        if let Some(fix) = story.explain(&verdict.entry) {
            for change in &fix.changes {
                println!("  it fires if you {}", explain::words(change));
            }
        }
    }
    Ok(())
}
