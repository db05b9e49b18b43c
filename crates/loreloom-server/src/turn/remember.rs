//! Remember: what is done with a stored reply. Its reader does not wait for it.

use std::sync::Arc;

use loreloom_core::chat::Path;
use loreloom_memory::service::{NewReply, Who};

use super::Turns;
use super::recent_paths::Track;

pub(super) struct StoredReply {
    /// The story with the reply.
    pub(super) track: Arc<Track>,
    /// Who spoke.
    pub(super) who: Who,
}

/// Prepares the next turn of a story and hands the reply to memory.
pub(super) async fn remember(turns: &Turns, stored: StoredReply) {
    let path = &stored.track.path;
    // The store folds the state that the next turn begins with, so that it is ready by then.
    if let Err(error) = turns.store.state(&turns.tenant, path).await {
        tracing::debug!(%error, "the next turn reads its state itself");
    }
    tell_memory(turns, path, stored.who).await;
}

/// Hands a reply to memory, which works on it later.
pub(crate) async fn tell_memory(turns: &Turns, path: &Path, who: Who) {
    let Some(memory) = &turns.memory else { return };
    let speakers = [who];
    let spoken = NewReply {
        tenant: &turns.tenant,
        chat: path.chat(),
        path: path.items(),
        speakers: &speakers,
    };
    if let Err(error) = memory.planner.after_reply(&spoken).await {
        tracing::warn!(%error, "memory did not take the reply");
    }
}
