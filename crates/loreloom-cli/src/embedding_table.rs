//! The table of vectors: somebody's own, or the one in the binary.

use std::{borrow::Cow, path::Path, sync::Arc};

use anyhow::Context as _;
use loreloom_llm::embed::StaticEmbedder;
use loreloom_memory::service::TableVectors;
use loreloom_ports::Embedder;
use loreloom_settings::FeatureSection;

use crate::files;

/// A table of vectors.
#[derive(Clone, Default)]
pub(crate) struct EmbeddingTable(Option<Arc<StaticEmbedder>>);

impl EmbeddingTable {
    /// The table that the settings name. Its vocabulary is `vocab.txt` or `tokenizer.json` in the
    /// same folder.
    pub(crate) fn open(features: &FeatureSection) -> anyhow::Result<Self> {
        let Some(path) = &features.embedding_table else { return Ok(Self::default()) };
        let opened = Self::read(Path::new(path));
        let table = opened.with_context(|| format!("`features.embedding_table` is `{path}`"))?;
        Ok(Self(Some(Arc::new(table))))
    }

    fn read(path: &Path) -> anyhow::Result<StaticEmbedder> {
        let table = files::read(path)?;
        let beside = |name: &str| path.with_file_name(name);
        let vocabulary = if beside("vocab.txt").exists() {
            String::from_utf8(files::read(&beside("vocab.txt"))?)?
        } else {
            StaticEmbedder::vocabulary(&files::read(&beside("tokenizer.json"))?)?
        };
        // Vectors of two tables must not meet, so the name says which one made them.
        let name = format!("table-{}", StaticEmbedder::digest(&table));
        Ok(StaticEmbedder::read(Cow::Owned(name), Cow::Owned(table), &vocabulary)?)
    }

    /// The table as an embedder.
    pub(crate) fn embedder(&self) -> Arc<dyn Embedder> {
        match &self.0 {
            Some(own) => own.clone(),
            None => Arc::new(StaticEmbedder::embedded()),
        }
    }

    /// The table for the search of stories.
    pub(crate) fn vectors(&self) -> TableVectors {
        match self.0.clone() {
            Some(own) => TableVectors::all(move |text| own.embed_one(text)),
            None => TableVectors::english(|text| StaticEmbedder::embedded().embed_one(text)),
        }
    }
}
