//! An embedder that remembers: what was embedded once is not embedded again.

use async_trait::async_trait;
use loreloom_core::{
    digest::Hasher,
    ids::{Digest, TenantId},
};

use loreloom_ports::{EmbedError, Embedder, MemoryLog, Vector};

/// An embedder whose vectors are kept with the memory they are for.
pub struct KeptEmbedder<'kept> {
    embedder: &'kept dyn Embedder,
    log: &'kept dyn MemoryLog,
    tenant: &'kept TenantId,
}

impl std::fmt::Debug for KeptEmbedder<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("KeptEmbedder").field("model", &self.model()).finish_non_exhaustive()
    }
}

impl<'kept> KeptEmbedder<'kept> {
    /// This embedder, with its vectors kept in `log`.
    pub fn new(
        embedder: &'kept dyn Embedder,
        log: &'kept dyn MemoryLog,
        tenant: &'kept TenantId,
    ) -> Self {
        Self { embedder, log, tenant }
    }
}

#[async_trait]
impl Embedder for KeptEmbedder<'_> {
    fn model(&self) -> &str {
        self.embedder.model()
    }

    fn dimensions(&self) -> usize {
        self.embedder.dimensions()
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let hash = |text: &&str| Hasher::new("embedded text").field(text.as_bytes()).finish();
        let hashes: Vec<Digest> = texts.iter().map(hash).collect();
        // A store that fails costs time and nothing else.
        let kept = self.log.vectors(self.tenant, self.model(), &hashes).await;
        let mut kept = kept.unwrap_or_else(|_| vec![None; texts.len()]);
        kept.resize(texts.len(), None);
        let missing: Vec<usize> = (0..texts.len()).filter(|at| kept[*at].is_none()).collect();
        if !missing.is_empty() {
            let asked: Vec<&str> = missing.iter().map(|at| texts[*at]).collect();
            let made = self.embedder.embed(&asked).await?;
            if made.len() != asked.len() {
                let (found, wanted) = (made.len(), asked.len());
                return Err(EmbedError::Count { model: self.model().to_owned(), found, wanted });
            }
            let new: Vec<(Digest, Vector)> = missing
                .iter()
                .zip(&made)
                .map(|(at, vector)| (hashes[*at], vector.clone()))
                .collect();
            // As above: what is not kept is made again.
            let _unkept = self.log.keep_vectors(self.tenant, self.model(), &new).await;
            for (at, vector) in missing.into_iter().zip(made) {
                kept[at] = Some(vector);
            }
        }
        Ok(kept.into_iter().flatten().collect())
    }
}
