//! The embedder that stories are searched with.

use std::{sync::Arc, time::Duration};

use loreloom_ports::{Embedder, Vector};

use super::{EmbedOne, Stop, turn::PassageIndexes};
use crate::recall::{Language, PackedVector, StoryVectors};

/// The languages that a table knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLanguages {
    /// The table in the binary knows only English.
    English,
    /// Somebody's own table is used for every text.
    All,
}

/// A table of vectors in the process.
#[derive(Clone)]
pub struct TableVectors {
    /// Looks up a text.
    pub embed: EmbedOne,
    /// The languages that it knows.
    pub languages: TableLanguages,
}

impl TableVectors {
    /// A table that knows only English.
    pub fn english(embed: impl Fn(&str) -> Vector + Send + Sync + 'static) -> Self {
        Self { embed: Arc::new(embed), languages: TableLanguages::English }
    }

    /// A table that is used for every language.
    pub fn all(embed: impl Fn(&str) -> Vector + Send + Sync + 'static) -> Self {
        Self { embed: Arc::new(embed), languages: TableLanguages::All }
    }
}

impl StoryVectors for TableVectors {
    fn knows_words(&self, language: Language) -> bool {
        self.languages == TableLanguages::All || language == Language::English
    }

    fn word(&self, word: &str) -> PackedVector {
        PackedVector::of(&(self.embed)(word))
    }

    fn piece(&self, text: &str, language: Language) -> Option<PackedVector> {
        self.knows_words(language).then(|| self.word(text))
    }
}

/// Exchanges the embedder of stories, and does its work in the background.
pub struct StoryEmbedding {
    pub(super) passages: Arc<PassageIndexes>,
}

impl StoryEmbedding {
    /// Searches stories with the vectors of this server, for which a turn waits so long.
    pub fn use_server(&self, embedder: Arc<dyn Embedder>, patience: Duration) {
        self.passages.embed_with(Some((embedder, patience)));
    }

    /// Searches stories with the table again.
    pub fn use_table(&self) {
        self.passages.embed_with(None);
    }

    /// Embeds stories in the background until it is stopped.
    pub async fn work_until(&self, mut stop: Stop) {
        self.passages.work_until(&mut stop).await;
    }
}
