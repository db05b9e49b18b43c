//! Loreloom's engine: which lore the model must know this turn, where it goes, and why.
//!
//! The crate is pure. It reads no file, no clock and no global randomness; tokens, rolls and
//! time are inputs, so a recorded turn can be replayed to the byte.
//!
//! ```
//! use loreloom_core::{
//!     book::{Book, Entry, Key},
//!     chat::{Message, Role},
//!     story::Engine,
//! };
//!
//! let mut entry = Entry::new("harbour/0");
//! entry.name = "The bell".to_owned();
//! entry.activation.keys = vec![Key::parse("bell")];
//! entry.content = "The bell is cracked.".to_owned();
//! let mut book = Book::new("harbour", "Harbour");
//! book.entries.push(entry);
//!
//! let engine = Engine::new([book]);
//! let mut story = engine.story("first").with_user("Wren").with_character("Mira");
//! story.say(Message::new(Role::User, Some("Wren"), "Who rang the bell?"));
//! let turn = story.weave();
//! assert_eq!(turn.injections()[0].text, "The bell is cracked.");
//! for (verdict, reason) in turn.reasons() {
//!     assert_eq!((verdict.title.as_str(), reason.contains("“bell” in message 1")), ("The bell", true));
//! }
//! ```

pub mod assemble;
pub mod bm25;
pub mod book;
pub mod cache_placement;
pub mod chat;
pub mod dialects;
pub mod dice;
pub mod digest;
pub mod engine;
pub mod explain;
pub mod hygiene;
pub mod ids;
pub mod instruct;
pub mod js_value;
pub mod labels;
pub mod library;
pub mod lore_tests;
pub mod macros;
pub mod note;
pub mod note_selection;
pub mod notebook;
pub mod number;
pub mod place;
pub mod prompt;
pub mod regex_script;
pub mod replay;
pub mod report;
pub mod room;
pub mod rules;
pub mod scan;
pub mod shorten;
mod sort;
pub mod state;
pub mod story;
pub mod tokens;
pub mod turn;
pub mod units;
pub mod utf16;
pub mod vault_notes;
pub mod wrap;
