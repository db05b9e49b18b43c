//! Turning text into vectors.

use async_trait::async_trait;

/// A unit-length vector: the cosine of two is their dot product.
pub type Vector = Vec<f32>;

/// Turns texts into vectors. Vectors of different models are never compared: `model`
/// names what made them.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// The model's name, stored beside every vector.
    fn model(&self) -> &str;

    /// The length of its vectors.
    fn dimensions(&self) -> usize;

    /// One vector for each text, in order.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError>;
}

/// No vectors came back.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model could not be reached or refused.
    #[error("embedding model `{model}` failed: {reason}")]
    Failed {
        /// The model.
        model: String,
        /// What it said.
        reason: String,
    },
    /// It answered with something else than asked for.
    #[error("embedding model `{model}` gave {found} vectors for {wanted} texts")]
    Count {
        /// The model.
        model: String,
        /// Vectors received.
        found: usize,
        /// Texts sent.
        wanted: usize,
    },
}
