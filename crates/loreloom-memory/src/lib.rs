//! Loreloom's memory: what a story remembers, and which memories go into a prompt.
//!
//! [`service`] has what the rest of the program calls. [`tiers`] extract memories with a model,
//! [`event`] stores them so that every branch has its own, [`inject`] fills the prompt, and
//! [`recall`] finds earlier messages without a model. Decisions are pure functions; stores,
//! models and the clock are traits of `loreloom-ports`.
//!
//! ```
//! use loreloom_core::{chat::{Message, Path, Role}, ids::ChatId};
//! use loreloom_memory::recall::{Passage, PassageIndex, RecallQuery, Weights, lines};
//!
//! let texts = [
//!     "I hid the silver whistle in the bell tower.",
//!     "Gulls circle.",
//!     "It rains.",
//!     "Bread is cheap.",
//!     "Where did I hide the silver whistle?",
//! ];
//! let message = |text| Message::new(Role::User, Some("Mara"), text);
//! let path = Path::of(ChatId::from("harbour"), texts.map(message));
//! let mut index = PassageIndex::new([]);
//! for text in texts {
//!     index.push(Passage { speaker: Some("Mara"), text, stretch: 0, by_player: true }, None);
//! }
//! // Only the last two messages are in the prompt. In a short story little stands out.
//! let query = RecallQuery { least: 1.0, ..RecallQuery::new(path.items(), 3) };
//! let hits = index.recall(query, &Weights::default(), None);
//! assert_eq!(lines(&hits, path.items()), [format!("Mara: {}", texts[0])]);
//! ```

pub mod budget;
mod card;
pub mod cast;
pub mod change;
pub mod cycle;
pub mod drive;
pub mod entities;
pub mod event;
pub mod ids;
pub mod inject;
mod json_reply;
pub mod migrate;
pub mod model_profile;
pub mod model_test;
pub mod pass;
pub mod people;
pub mod presence;
pub mod recall;
pub mod recap;
pub mod record;
mod reply;
pub mod rules;
pub mod schedule;
pub mod score;
pub mod search;
pub mod secrets;
pub mod service;
pub mod settings;
pub mod similarity;
pub mod story_clock;
pub mod text;
pub mod tiers;
pub mod timeline;
pub mod turn;
pub mod verify;
pub mod window;

use loreloom_core::number;
