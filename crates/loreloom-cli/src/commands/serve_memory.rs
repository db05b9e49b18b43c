//! Memory of a running server, and the workers that do its jobs.

use std::sync::Arc;

use loreloom_memory::service::{MemoryServices, Options, Ports};
use loreloom_ports::Store;
use loreloom_server::App;
use tokio::sync::watch;

use crate::{clock::SystemClock, embedding_table::EmbeddingTable};

/// What memory works with, over a store.
pub(super) fn ports(store: &Arc<dyn Store>, table: &EmbeddingTable) -> Ports {
    Ports {
        story: store.clone(),
        log: store.clone(),
        jobs: store.clone(),
        clock: Arc::new(SystemClock),
        table: Some(table.vectors()),
        embedder: Some(table.embedder()),
    }
}

/// Memory over a store. Nobody does its work yet.
pub(super) fn memory(
    store: &Arc<dyn Store>,
    table: &EmbeddingTable,
    options: Options,
) -> Arc<MemoryServices> {
    Arc::new(MemoryServices::new(&ports(store, table), options))
}

/// Carries out memory's work until the server stops: as many jobs at once as the model takes
/// that does it, which may be another from one moment to the next.
pub(super) fn work(app: &App) {
    let Some(memory) = app.memory.clone() else { return };
    let (tell, stop) = watch::channel(false);
    let stopping = app.stopping.clone();
    // Another server on the same store has workers of its own.
    let (process, begun) = (std::process::id(), app.clock.now().0);
    let tasks = app.tasks.clone();
    let (embedding, until) = (Arc::clone(&memory), stop.clone());
    tasks.spawn(async move { embedding.embedding.work_until(until).await });
    app.tasks.spawn(async move {
        let (mut at_once, mut workers) = (0, 0);
        loop {
            at_once = tokio::select! {
                () = stopping.cancelled() => break,
                now = memory.models.next_at_once(at_once) => now,
            };
            // Those that are too many for another model wait for the next.
            for place in workers..at_once.max(workers) {
                let (memory, stop) = (Arc::clone(&memory), stop.clone());
                let name = format!("server-{process}-{begun}-{place}");
                tasks.spawn(async move { memory.worker.work_until(&name, place, stop).await });
            }
            workers = workers.max(at_once);
        }
        // The workers have gone already if nobody hears this.
        let _gone = tell.send(true);
    });
}
