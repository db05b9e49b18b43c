//! An embedder with a cache: no text is embedded twice.

use async_trait::async_trait;
use loreloom_core::{
    digest::Hasher,
    ids::{Digest, TenantId},
};

use loreloom_ports::{EmbedError, Embedder, MemoryLog, Vector};

/// An embedder that stores its vectors beside the memories.
pub(in crate::service) struct CachedEmbedder<'cache> {
    embedder: &'cache dyn Embedder,
    log: &'cache dyn MemoryLog,
    tenant: &'cache TenantId,
}

impl<'cache> CachedEmbedder<'cache> {
    /// This embedder, with its vectors stored in `log`.
    pub(in crate::service) fn new(
        embedder: &'cache dyn Embedder,
        log: &'cache dyn MemoryLog,
        tenant: &'cache TenantId,
    ) -> Self {
        Self { embedder, log, tenant }
    }
}

#[async_trait]
impl Embedder for CachedEmbedder<'_> {
    fn model(&self) -> &str {
        self.embedder.model()
    }

    fn dimensions(&self) -> usize {
        self.embedder.dimensions()
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let hash = |text: &&str| Hasher::new("embedded text").field(text.as_bytes()).finish();
        let hashes: Vec<Digest> = texts.iter().map(hash).collect();
        // If the store fails, the texts are embedded again.
        let cached = self.log.vectors(self.tenant, self.model(), &hashes).await;
        let mut cached = cached.unwrap_or_else(|_| vec![None; texts.len()]);
        cached.resize(texts.len(), None);
        let missing: Vec<usize> = (0..texts.len()).filter(|at| cached[*at].is_none()).collect();
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
            // As above: a failure only costs time later.
            let _unstored = self.log.keep_vectors(self.tenant, self.model(), &new).await;
            for (at, vector) in missing.into_iter().zip(made) {
                cached[at] = Some(vector);
            }
        }
        Ok(cached.into_iter().flatten().collect())
    }
}
