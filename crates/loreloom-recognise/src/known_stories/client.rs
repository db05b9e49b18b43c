//! What is known of one client, a front end by its user agent.

use super::Slot;

/// The user's names remembered of one client.
const NAMES: usize = 16;

/// What one client has shown of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    /// Whether its story prompts carry a card: then a bare question is not story.
    pub(crate) has_cards: bool,
    /// The chat it was last in.
    pub(crate) last: Option<Slot>,
    /// Names that its user had, the newest last.
    pub(crate) users: Vec<String>,
}

impl Client {
    /// Remembers a name of the user.
    pub(crate) fn learn_user(&mut self, name: &str) {
        if self.users.last().is_some_and(|last| last == name) {
            return;
        }
        self.users.retain(|other| other != name);
        if self.users.len() == NAMES {
            self.users.remove(0);
        }
        self.users.push(name.to_owned());
    }
}
