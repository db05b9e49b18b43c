//! How much of a prompt is the beginning of the one before.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{
    digest::Hasher, ids::Digest, prompt::PromptMessage, tokens::TokenCounter, units::Tokens,
};

/// Token counts of texts that come again and again.
pub struct TokenMemo<'a> {
    counter: &'a dyn TokenCounter,
    known: FxHashMap<Digest, Tokens>,
}

impl<'a> TokenMemo<'a> {
    /// Counts with `counter`.
    pub fn new(counter: &'a dyn TokenCounter) -> Self {
        Self { counter, known: FxHashMap::default() }
    }

    /// The tokens of a text.
    pub fn count(&mut self, text: &str) -> Tokens {
        let key = Hasher::new("text").field(text.as_bytes()).finish();
        *self.known.entry(key).or_insert_with(|| self.counter.count(text))
    }
}

/// What two prompts in a row have in common, in tokens of their texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Kept))]
pub struct SharedPrefix {
    /// The common beginning.
    pub kept: Tokens,
    /// The prompt before.
    pub previous: Tokens,
    /// This prompt.
    pub total: Tokens,
}

impl SharedPrefix {
    /// How much of the prompt before is still the beginning, from 0 to 1; nothing kept of
    /// nothing is all of it.
    pub fn share(&self) -> f64 {
        match self.previous {
            Tokens(0) => 1.0,
            Tokens(previous) => f64::from(self.kept.0) / f64::from(previous),
        }
    }
}

/// Compares a prompt with the one sent before. A message that changed counts up to its
/// first byte that differs.
pub fn kept(
    previous: &[PromptMessage],
    now: &[PromptMessage],
    memo: &mut TokenMemo<'_>,
) -> SharedPrefix {
    let same = previous.iter().zip(now).take_while(|(before, after)| before == after).count();
    let mut kept: Tokens = now[..same].iter().map(|one| memo.count(&one.content)).sum();
    if let (Some(before), Some(after)) = (previous.get(same), now.get(same))
        && (before.role, &before.name) == (after.role, &after.name)
    {
        let text = common(&before.content, &after.content);
        kept = kept.saturating_add(memo.counter.count(text));
    }
    let mut total = |prompt: &[PromptMessage]| -> Tokens {
        prompt.iter().map(|one| memo.count(&one.content)).sum()
    };
    let (previous, total) = (total(previous), total(now));
    // A text cut inside a word may have more tokens than the whole.
    SharedPrefix { kept: kept.min(previous).min(total), previous, total }
}

/// The common beginning of two texts, in whole characters.
fn common<'text>(one: &'text str, other: &str) -> &'text str {
    let pairs = one.char_indices().zip(other.chars());
    let end = pairs.take_while(|((_, a), b)| a == b).last();
    end.map_or("", |((at, last), _)| &one[..at + last.len_utf8()])
}

#[cfg(test)]
mod tests {
    use Role::{System, User};

    use super::*;
    use crate::{chat::Role, tokens::TokenCounter};

    struct Letters;

    impl TokenCounter for Letters {
        fn name(&self) -> &'static str {
            "letters"
        }

        fn count(&self, text: &str) -> Tokens {
            Tokens(u32::try_from(text.chars().count()).unwrap())
        }
    }

    #[test]
    fn the_kept_prefix_ends_at_the_first_letter_that_differs() {
        let prompt = |texts: &[(Role, &str)]| -> Vec<PromptMessage> {
            let message = |&(role, text): &(Role, &str)| PromptMessage {
                role,
                name: None,
                content: text.into(),
            };
            texts.iter().map(message).collect()
        };
        let before = prompt(&[(System, "card"), (System, "löre"), (User, "hi")]);
        for (now, expected) in [
            (prompt(&[(System, "card"), (System, "löre"), (User, "hi"), (User, "ho")]), 10),
            (prompt(&[(System, "card"), (System, "löwe"), (User, "hi")]), 6),
            (prompt(&[(System, "card"), (User, "löre"), (User, "hi")]), 4),
            (prompt(&[(System, "card")]), 4),
            (prompt(&[]), 0),
        ] {
            let found = kept(&before, &now, &mut TokenMemo::new(&Letters));
            assert_eq!(found.kept, Tokens(expected), "{now:?}");
            assert_eq!(found.previous, Tokens(10));
        }
        let nothing = kept(&[], &before, &mut TokenMemo::new(&Letters));
        assert!((nothing.share() - 1.0).abs() < f64::EPSILON);
    }
}
