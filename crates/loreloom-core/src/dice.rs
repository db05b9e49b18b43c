//! Chance as an input: rolls come from the caller, never from a global generator.

use crate::{
    chat::Path,
    digest::Hasher,
    ids::{ChatId, EntryId, MessageId},
};

/// What a roll decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roll<'a> {
    /// Whether an entry's probability lets it in.
    Chance(&'a EntryId),
    /// Which member of an inclusion group wins.
    Group(&'a str),
    /// The n-th random macro in an entry's text, for this turn.
    Macro(&'a EntryId, u32),
    /// The n-th `{{pick}}` in an entry's text, for the life of the chat.
    Pick(&'a EntryId, u32),
}

/// Gives rolls in `0.0..1.0`.
pub trait Dice {
    /// The roll for this decision.
    fn roll(&mut self, roll: Roll<'_>) -> f64;
}

/// Rolls that depend only on the seed, the chat, the last user message and the thing decided (rule
/// U12): swipe, regenerate and continue get the same lore, and the next user message gets new
/// rolls.
#[derive(Clone, Debug)]
pub struct TurnDice {
    chat: Hasher,
    turn: Hasher,
}

/// Steps of a roll: a millionth, as the rule says.
const STEPS: u64 = 1_000_000;

impl TurnDice {
    /// Dice for the turn that answers the last user message of `path`.
    pub fn new(seed: u64, chat: &ChatId, path: &Path) -> Self {
        Self::at(seed, chat, path.last_user())
    }

    /// Dice for the turn that answers `message`.
    pub fn at(seed: u64, chat: &ChatId, message: Option<MessageId>) -> Self {
        let key = message.map_or([0; 16], |MessageId(digest)| digest.0);
        let chat = Hasher::new("roll").number(seed).field(chat.as_str().as_bytes());
        Self { turn: chat.clone().field(&key), chat }
    }
}

impl Dice for TurnDice {
    fn roll(&mut self, roll: Roll<'_>) -> f64 {
        let hash = match roll {
            Roll::Chance(entry) => {
                self.turn.clone().field(b"chance").field(entry.as_str().as_bytes())
            }
            Roll::Group(name) => self.turn.clone().field(b"group").field(name.as_bytes()),
            Roll::Macro(entry, index) => numbered(&self.turn, b"macro", entry, index),
            Roll::Pick(entry, index) => numbered(&self.chat, b"pick", entry, index),
        };
        let step = u32::try_from(hash.finish_u64() % STEPS).unwrap_or_default();
        f64::from(step) / 1_000_000.0
    }
}

fn numbered(from: &Hasher, kind: &[u8], entry: &EntryId, index: u32) -> Hasher {
    from.clone().field(kind).field(entry.as_str().as_bytes()).number(u64::from(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rolls_hold_for_the_turn_and_picks_for_the_chat() {
        let (chat, entry) = (ChatId::from("c"), EntryId::from("e"));
        let at = |digit: u8| Some(MessageId(crate::ids::Digest([digit; 16])));
        let roll = |message, roll| TurnDice::at(7, &chat, message).roll(roll);
        for kind in [Roll::Chance(&entry), Roll::Group("g"), Roll::Macro(&entry, 0)] {
            assert!((roll(at(1), kind) - roll(at(1), kind)).abs() < f64::EPSILON, "{kind:?}");
            assert!((roll(at(1), kind) - roll(at(2), kind)).abs() > 1e-9, "{kind:?}");
        }
        let pick = Roll::Pick(&entry, 0);
        assert!((roll(at(1), pick) - roll(at(2), pick)).abs() < f64::EPSILON);
        assert!((roll(at(1), pick) - roll(at(1), Roll::Pick(&entry, 1))).abs() > 1e-9);
    }
}
