//! Secrets: what must not appear in the prompt of a character.
//!
//! Words and messages give a secret away. A statement is withheld if it has half of a secret's
//! words, or if it rests only on messages that contain one. Withholding too much costs a line;
//! withholding too little spoils the story.

use loreloom_core::ids::MessageId;
use rustc_hash::FxHashSet;

use crate::{
    presence::is_same_person,
    recall::tokens,
    record::{Insight, InsightKind},
    text::sentences,
};

/// Words that mean everybody else.
const EVERYBODY: &[&str] = &["all", "anyone", "everybody", "everyone", "others", "the others"];

/// What one character must not know.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    kept: Vec<FxHashSet<String>>,
    bearers: FxHashSet<MessageId>,
}

impl Secrets {
    /// The secrets that these insights keep from a character.
    pub fn from<'insight>(
        insights: impl IntoIterator<Item = &'insight Insight>,
        name: &str,
    ) -> Self {
        let insights: Vec<&Insight> =
            insights.into_iter().filter(|insight| insight.retired.is_none()).collect();
        let known: Vec<FxHashSet<String>> = insights
            .iter()
            .filter(|one| knows(one) && one.holds() && is_same_person(&one.subject, name))
            .map(|one| content_words(one))
            .collect();
        let mut secrets = Self::default();
        for insight in insights.iter().filter(|one| is_kept_from(one, name)) {
            let words = content_words(insight);
            if words.is_empty() || known.iter().any(|known| reveals(known, &words)) {
                continue;
            }
            secrets.bearers.extend(insight.receipts.iter().copied());
            secrets.kept.push(words);
        }
        secrets
    }

    /// Whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether a text contains a secret.
    pub fn revealed_by(&self, text: &str) -> bool {
        if self.is_empty() {
            return false;
        }
        let words = stems(text);
        self.kept.iter().any(|secret| reveals(&words, secret))
    }

    /// Whether a secret rests on a message.
    pub fn carried_by(&self, message: &MessageId) -> bool {
        self.bearers.contains(message)
    }

    /// Whether a statement gives a secret away: by its words, or because it rests only on messages
    /// of secrets.
    pub fn given_away_by(&self, text: &str, receipts: &[MessageId]) -> bool {
        let rests = !receipts.is_empty() && receipts.iter().all(|id| self.carried_by(id));
        rests || self.revealed_by(text)
    }

    /// Prose without the sentences that contain a secret.
    pub fn without(&self, text: &str) -> String {
        if !self.revealed_by(text) {
            return text.to_owned();
        }
        sentences(text).into_iter().filter(|sentence| !self.revealed_by(sentence)).collect()
    }
}

fn knows(insight: &Insight) -> bool {
    insight.kind == InsightKind::Knows
}

fn is_kept_from(insight: &Insight, name: &str) -> bool {
    let is_own = is_same_person(&insight.subject, name);
    match insight.kind {
        InsightKind::Unaware => is_own,
        InsightKind::Hiding => {
            let target = insight.target.as_deref().unwrap_or_default().trim().to_lowercase();
            let is_meant = target.is_empty() || EVERYBODY.contains(&target.as_str());
            !is_own && (is_meant || is_same_person(&target, name))
        }
        InsightKind::Knows | InsightKind::Suspects | InsightKind::Believes => false,
    }
}

/// The words of an insight without the names of its people, which occur everywhere.
fn content_words(insight: &Insight) -> FxHashSet<String> {
    let mut words = stems(&insight.content);
    let names = [Some(insight.subject.as_str()), insight.target.as_deref()];
    let names: FxHashSet<String> = names.into_iter().flatten().flat_map(stems).collect();
    if words.iter().any(|word| !names.contains(word)) {
        words.retain(|word| !names.contains(word));
    }
    words
}

fn stems(text: &str) -> FxHashSet<String> {
    tokens(text).into_iter().map(|token| token.stem).collect()
}

/// Whether these words include at least half of the secret's.
fn reveals(words: &FxHashSet<String>, secret: &FxHashSet<String>) -> bool {
    let shared = secret.iter().filter(|word| words.contains(*word)).count();
    shared * 2 >= secret.len() && shared > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insight(kind: InsightKind, subject: &str, target: Option<&str>, content: &str) -> Insight {
        Insight {
            id: String::new(),
            kind,
            subject: subject.into(),
            target: target.map(str::to_owned),
            content: content.into(),
            ts: None,
            source_messages: None,
            receipts: vec![],
            retired: None,
            ungrounded: vec![],
        }
    }

    #[test]
    fn a_secret_is_kept_from_the_one_it_is_hidden_from_until_they_know() {
        let hiding = insight(InsightKind::Hiding, "Mara", Some("Tobin"), "Mara forged the deed");
        let unaware = insight(InsightKind::Unaware, "Tobin", None, "the well is poisoned");
        let all = [&hiding, &unaware];
        let (tobin, mara) = (Secrets::from(all, "Tobin"), Secrets::from(all, "Mara"));
        for (text, is_revealed) in [
            ("Mara forged a deed to the mill.", true),
            ("Somebody poisoned the water of the well", true),
            ("Mara likes the mill.", false),
            ("Tobin trusts Mara.", false),
        ] {
            assert_eq!(tobin.revealed_by(text), is_revealed, "{text}");
            assert!(!mara.revealed_by(text), "{text}");
        }
        let knowing =
            insight(InsightKind::Knows, "Tobin Reed", None, "the deed was forged by Mara");
        let tobin = Secrets::from([&hiding, &unaware, &knowing], "Tobin Reed");
        assert!(!tobin.revealed_by("Mara forged a deed to the mill."));
        assert!(tobin.revealed_by("The well is poisoned."));
        let mut over = unaware.clone();
        over.retired = Some(1);
        assert!(Secrets::from([&over], "Tobin").is_empty());
    }

    #[test]
    fn what_is_hidden_from_all_is_hidden_from_each_but_its_owner() {
        let hiding = insight(InsightKind::Hiding, "Mara", Some("everyone"), "a letter in her boot");
        assert!(Secrets::from([&hiding], "Odo").revealed_by("There is a letter in the boot."));
        assert!(Secrets::from([&hiding], "Mara").is_empty());
    }

    #[test]
    fn prose_loses_only_the_sentences_that_tell() {
        let hiding = insight(InsightKind::Hiding, "Mara", Some("Tobin"), "Mara forged the deed");
        let secrets = Secrets::from([&hiding], "Tobin");
        let prose = "They reached the mill. Mara forged the deed by night. It rained.";
        assert_eq!(secrets.without(prose), "They reached the mill. It rained.");
    }
}
