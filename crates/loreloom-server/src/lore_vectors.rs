//! Lore by meaning: which entries are near to what was said last.
//!
//! The vectors of entries are made once for a library and taken over into the next version
//! of it where the text stayed the same; a turn embeds only its query and compares it with
//! every vector. That is exact and needs no index: a thousand entries take some tens of
//! microseconds, fifty thousand a few milliseconds.

use loreloom_core::{
    dialects::worldinfo::split_decorators,
    digest::Hasher,
    ids::{Digest, EntryId},
    library::{Dialect, Library},
    rules::Rules,
    turn::{Near, Transcript},
};
use rustc_hash::FxHashMap;

use loreloom_ports::{EmbedError, Embedder, Vector};

/// The vectors of the entries of one library that are found by meaning.
#[derive(Clone, Debug, Default)]
pub struct LoreVectors {
    model: String,
    entries: Vec<EntryId>,
    /// The row of each entry: equal texts share one.
    rows: Vec<usize>,
    texts: FxHashMap<Digest, usize>,
    vectors: Vec<Vector>,
}

/// Entries beyond those that may fire, so that a report can show how near they were.
const NEAR_MISSES: usize = 8;

impl LoreVectors {
    /// The vectors of all entries that the rules compare. Vectors of `before` are used again
    /// where model and text are the same.
    pub async fn of(
        library: &Library,
        rules: &Rules,
        embedder: &dyn Embedder,
        before: Option<&Self>,
    ) -> Result<Self, EmbedError> {
        let before = before.filter(|before| before.model == embedder.model());
        let mut made = Self { model: embedder.model().to_owned(), ..Self::default() };
        let mut new: Vec<&str> = Vec::new();
        let mut new_rows: Vec<usize> = Vec::new();
        for entry in library.books().iter().flat_map(|book| &book.entries) {
            if !rules.world_info.vectors.compares(entry) {
                continue;
            }
            let text = split_decorators(&entry.content, rules.world_info.quirks).body;
            if text.trim().is_empty() {
                continue;
            }
            let digest = Hasher::new("lore text").field(text.as_bytes()).finish();
            let row = *made.texts.entry(digest).or_insert_with(|| {
                let known = before
                    .and_then(|before| before.vectors.get(*before.texts.get(&digest)?).cloned());
                if known.is_none() {
                    new.push(text);
                    new_rows.push(made.vectors.len());
                }
                made.vectors.push(known.unwrap_or_default());
                made.vectors.len() - 1
            });
            made.entries.push(entry.id.clone());
            made.rows.push(row);
        }
        if !new.is_empty() {
            let found = embed(embedder, &new).await?;
            for (row, vector) in new_rows.into_iter().zip(found) {
                made.vectors[row] = vector;
            }
        }
        Ok(made)
    }

    /// Whether no entry is found by meaning: then a turn needs no query.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many entries are found by meaning.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries nearest to the newest messages, nearest first, for
    /// [`TurnInput::near`](loreloom_core::turn::TurnInput::near). Entries of card books have no
    /// threshold of their own, so only those above the common one are included.
    pub async fn near(
        &self,
        library: &Library,
        transcript: &Transcript,
        rules: &Rules,
        embedder: &dyn Embedder,
    ) -> Result<Vec<Near>, EmbedError> {
        let query = query(transcript, rules.world_info.vectors.messages as usize);
        if self.is_empty() || query.is_empty() {
            return Ok(Vec::new());
        }
        let query = embed(embedder, &[&query]).await?.remove(0);
        let scores: Vec<f64> = self.vectors.iter().map(|vector| cosine(vector, &query)).collect();
        let threshold = rules.world_info.vectors.threshold;
        let is_close = |near: &Near| {
            let found = library.find(&near.entry).map(|ix| library.dialect_of(ix));
            near.score >= threshold || found == Some(Dialect::WorldInfo)
        };
        let near = self.entries.iter().zip(&self.rows);
        let near = near.map(|(entry, &row)| Near { entry: entry.clone(), score: scores[row] });
        let mut near: Vec<Near> = near.filter(is_close).collect();
        near.sort_by(|a, b| b.score.total_cmp(&a.score));
        let most = rules.world_info.vectors.max_entries.max(rules.cards.semantic_entries);
        near.truncate(most as usize + NEAR_MISSES);
        Ok(near)
    }
}

/// The newest messages that say something, newest first, as one text.
fn query(transcript: &Transcript, messages: usize) -> String {
    let said = transcript.newest(transcript.len()).filter(|text| !text.trim().is_empty());
    said.take(messages).collect::<Vec<_>>().join("\n")
}

async fn embed(embedder: &dyn Embedder, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
    let vectors = embedder.embed(texts).await?;
    if vectors.len() == texts.len() {
        return Ok(vectors);
    }
    let model = embedder.model().to_owned();
    Err(EmbedError::Count { model, found: vectors.len(), wanted: texts.len() })
}

fn cosine(left: &[f32], right: &[f32]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum::<f32>().into()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use futures_util::FutureExt as _;
    use loreloom_core::{
        book::{Book, Entry},
        chat::Role,
    };

    use super::*;

    /// Counts letters, and remembers what it was asked.
    #[derive(Default)]
    struct Letters(Mutex<Vec<String>>);

    #[async_trait]
    impl Embedder for Letters {
        fn model(&self) -> &'static str {
            "letters"
        }

        fn dimensions(&self) -> usize {
            26
        }

        async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
            self.0.lock().unwrap().extend(texts.iter().map(|text| (*text).to_owned()));
            let vector = |text: &&str| {
                let mut counts = [0_f32; 26];
                for byte in text.bytes().filter(u8::is_ascii_lowercase) {
                    counts[usize::from(byte - b'a')] += 1.0;
                }
                let length = counts.iter().map(|count| count * count).sum::<f32>().sqrt();
                counts.iter().map(|count| count / length.max(1.0)).collect()
            };
            Ok(texts.iter().map(vector).collect())
        }
    }

    fn library(texts: &[&str]) -> Library {
        let mut book = Book::new("b", "B");
        for (at, text) in texts.iter().enumerate() {
            let mut entry = Entry::new(format!("b/{at}"));
            (*text).clone_into(&mut entry.content);
            entry.activation.vectorized = !text.starts_with("plain");
            book.entries.push(entry);
        }
        Library::under([Arc::new(book)], &Rules::default())
    }

    #[test]
    fn the_nearest_entries_come_first_and_only_those_found_by_meaning() {
        let (rules, letters) = (Rules::default(), Letters::default());
        let library = library(&["zzz", "abc", "@@activate\nabb", "plain abc", " "]);
        let vectors = LoreVectors::of(&library, &rules, &letters, None);
        let vectors = vectors.now_or_never().unwrap().unwrap();
        assert_eq!(vectors.len(), 3);
        let mut transcript = Transcript::new(true);
        for text in ["zzz", "c", "", "ab"] {
            transcript.push(Role::User, Some("zzzz"), text);
        }
        let near = vectors.near(&library, &transcript, &rules, &letters);
        let near = near.now_or_never().unwrap().unwrap();
        let found: Vec<(&str, i64)> =
            near.iter().map(|near| (near.entry.as_str(), rounded(near.score))).collect();
        assert_eq!(found, [("b/1", 100), ("b/2", 77), ("b/0", 0)]);
        assert_eq!(*letters.0.lock().unwrap(), ["zzz", "abc", "abb", "ab\nc"]);
    }

    #[expect(clippy::cast_possible_truncation, reason = "a cosine in per cent")]
    fn rounded(score: f64) -> i64 {
        (score * 100.0).round() as i64
    }

    #[test]
    fn only_changed_texts_are_embedded_again() {
        let (rules, letters) = (Rules::default(), Letters::default());
        let first = library(&["abc", "abc", "xyz"]);
        let first = LoreVectors::of(&first, &rules, &letters, None);
        let first = first.now_or_never().unwrap().unwrap();
        let next = library(&["new", "abc"]);
        let second = LoreVectors::of(&next, &rules, &letters, Some(&first));
        let second = second.now_or_never().unwrap().unwrap();
        assert_eq!(*letters.0.lock().unwrap(), ["abc", "xyz", "new"]);
        assert_eq!(second.len(), 2);
    }
}
