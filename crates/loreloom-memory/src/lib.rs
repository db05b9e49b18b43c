//! Loreloom's memory: what a story remembers, and what of it a prompt gets.
//!
//! Decisions are pure: a pass is a function of its input and of the answers it has been given
//! ([`pass`]). Stores, models and the clock are reached through the traits of `loreloom-ports`.
//!
//! ```
//! use loreloom_memory::{pass::{Answers, Need, Script}, rules::Rules, tiers::continuity};
//!
//! let check = |answers: &Answers| {
//!     let facts = ["Odo is dead."];
//!     continuity::run(&facts, "Odo waves.", false, &Rules::default(), &mut Script::new(answers))
//! };
//! // Nothing has been answered yet: the pass says what it needs.
//! let mut answers = Answers::default();
//! let Err(Need::Reply(question)) = check(&answers) else { return };
//! assert!(question.prompt.contains("Odo is dead."));
//! // With the model's reply it runs to its end.
//! answers.replies.push(Some("- Odo is dead but waves.".to_owned()));
//! let found = check(&answers).map(|outcome| outcome.contradictions);
//! assert_eq!(found, Ok(vec!["Odo is dead but waves.".to_owned()]));
//! ```

pub mod budget;
pub mod change;
pub mod cycle;
pub mod drive;
pub mod entities;
pub mod event;
pub mod ids;
pub mod inject;
pub mod migrate;
pub mod model_profile;
pub mod model_test;
mod number;
pub mod pass;
pub mod presence;
pub mod recall;
pub mod recap;
pub mod record;
pub mod rules;
pub mod schedule;
pub mod score;
pub mod search;
pub mod secrets;
pub mod service;
pub mod settings;
pub mod similarity;
pub mod text;
pub mod tiers;
pub mod timeline;
pub mod turn;
pub mod verify;
pub mod window;
