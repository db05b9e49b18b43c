//! How does the model remember what left the window?
//!
//! Recall searches the messages of the whole story, with no model and no network, and finds what
//! the newest message calls for.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use loreloom_core::{
    chat::{Message, Path, Role},
    ids::ChatId,
};
use loreloom_memory::recall::{Passage, PassageIndex, RecallQuery, Weights, lines};

const STORY: [(Role, &str, &str); 7] = [
    (Role::User, "Wren", "I bury my grandmother's silver key under the old willow."),
    (Role::Assistant, "Mira", "The ground is soft there. Nobody will look for it."),
    (Role::User, "Wren", "We walk down to the harbour."),
    (Role::Assistant, "Mira", "The fishing boats are coming in with the tide."),
    (Role::User, "Wren", "Let us eat something at the inn."),
    (Role::Assistant, "Mira", "The soup is hot and the bread is old."),
    (Role::User, "Wren", "Where did I bury the silver key?"),
];

fn main() {
    let messages = STORY.map(|(role, name, text)| Message::new(role, Some(name), text));
    let path = Path::of(ChatId::from("first"), messages);
    let mut index = PassageIndex::new(["Wren".to_owned(), "Mira".to_owned()]);
    for (role, speaker, text) in STORY {
        let by_player = role == Role::User;
        index.push(Passage { speaker: Some(speaker), text, stretch: 0, by_player }, None);
    }
    // The model sees the last two messages anyway.
    let query = RecallQuery {
        path: path.items(),
        seen_from: STORY.len() - 2,
        entities: &[],
        most: 1,
        least: 0.0,
        may_recall: &|_| true,
    };
    let found = index.recall(query, &Weights::default(), None);
    for line in lines(&found, path.items()) {
        println!("{line}");
    }
}
