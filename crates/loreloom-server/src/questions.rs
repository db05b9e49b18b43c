//! What Loreloom itself asks the models of a connection.
//!
//! Requests of front ends are passed on as they are; memory, the selector and the embedder ask
//! questions of their own. How that is done is the host's, as everything about a connection is.

use std::sync::Arc;

use async_trait::async_trait;
use loreloom_core::units::Tokens;
use loreloom_memory::service::ModelUse;
use loreloom_ports::{ChatModel, Embedder};

/// Opens models of a connection; without a name, the connection's own. A failure is returned as
/// text.
#[async_trait]
pub trait Questions: Send + Sync {
    /// A model that answers. Asks nobody yet.
    fn model(&self, name: Option<&str>) -> Result<Arc<dyn ChatModel>, String>;

    /// A model that makes vectors. It is asked for one, to know how long they are.
    async fn embedder(&self, name: Option<&str>) -> Result<Arc<dyn Embedder>, NoEmbedder>;

    /// What memory needs to know of its models; they have this context where nothing says
    /// another.
    fn used(&self, context: Tokens) -> ModelUse;
}

/// Why there is no model that makes vectors.
#[derive(Debug, thiserror::Error)]
pub enum NoEmbedder {
    /// What is set is wrong, and stays so.
    #[error("{0}")]
    Wrong(String),
    /// It does not answer now, and may later.
    #[error("{0}")]
    Silent(String),
}
