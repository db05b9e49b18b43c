//! Writes to the model's notebook: notes that the model makes in a reply, or that another model
//! finds in it, are stored at that reply.

use std::time::Duration;

use loreloom_core::{
    chat::{Path, Role},
    notebook::{ModelNotebook, NOTHING_TO_NOTE, NotebookMode, NotebooksDelta, Noted},
    prompt::PromptMessage,
    state::StateDelta,
};
use loreloom_ports::{ChatRequest, StoreError, TurnRecord};

use super::Turns;

/// Stores the model's notes at the reply that ends a path, or lets a model find some.
pub(crate) async fn note(
    turns: &Turns,
    path: &Path,
    notes: Option<String>,
) -> Result<(), StoreError> {
    let lore = turns.lore.current();
    let Some(rules) = &lore.rules().notebooks.model else { return Ok(()) };
    match (rules.mode, notes) {
        (NotebookMode::Tag, Some(notes)) => keep_notes(turns, path, notes, rules.most).await,
        (NotebookMode::Tag, None) => Ok(()),
        (NotebookMode::Extract, _) => {
            let (own, path, rules) = (turns.clone(), path.clone(), rules.clone());
            turns.tasks.spawn(async move {
                let found = find_notes(&own, &path, &rules).await;
                let Some(notes) = found else { return };
                if let Err(error) = keep_notes(&own, &path, notes, rules.most).await {
                    tracing::warn!(%error, "the notes were not stored");
                }
            });
            Ok(())
        }
    }
}

/// The turn that holds the notes of a reply, if replies have notes.
pub(super) fn notes_record(turns: &Turns, path: &Path, notes: String) -> Option<TurnRecord> {
    let lore = turns.lore.current();
    let rules = lore.rules().notebooks.model.as_ref()?;
    (rules.mode == NotebookMode::Tag).then(|| record(turns, path, notes, rules.most))
}

fn record(turns: &Turns, path: &Path, notes: String, most: u32) -> TurnRecord {
    let noted = Some(Noted { notes, most });
    let notebooks = NotebooksDelta { noted, ..NotebooksDelta::default() };
    let delta = StateDelta { notebooks, ..StateDelta::default() };
    TurnRecord::edit(path, delta, turns.clock.now())
}

async fn keep_notes(
    turns: &Turns,
    path: &Path,
    notes: String,
    most: u32,
) -> Result<(), StoreError> {
    let edit = record(turns, path, notes, most);
    let stored = turns.store.commit_turn(&turns.tenant, path, &edit, None).await?;
    turns.recogniser.wrote(path.chat(), stored.write.0);
    Ok(())
}

/// The notes that a model finds in the reply.
async fn find_notes(turns: &Turns, path: &Path, rules: &ModelNotebook) -> Option<String> {
    let model = turns.noting.as_ref()?;
    let reply = &path.items().last()?.message.text;
    let state = turns.store.state(&turns.tenant, path).await;
    let known = state.map(|state| state.notebooks.model).unwrap_or_default();
    let message =
        |role, content: String| PromptMessage { role, name: None, content: content.into() };
    let request = ChatRequest {
        messages: vec![
            message(Role::System, rules.extraction.clone()),
            message(
                Role::User,
                format!("{}\n\n{}", tagged("notebook", &known), tagged("story", reply)),
            ),
        ],
        max_tokens: Some(rules.answer_tokens),
        temperature: Some(0.0),
        schema: None,
    };
    let longest = Duration::from_millis(rules.timeout_ms);
    match tokio::time::timeout(longest, model.complete(&request)).await {
        Ok(Ok(reply)) if reply.text.contains(NOTHING_TO_NOTE) => None,
        Ok(Ok(reply)) => Some(reply.text).filter(|text| !text.trim().is_empty()),
        Ok(Err(error)) => {
            tracing::warn!(%error, "nothing was noted");
            None
        }
        Err(_late) => {
            tracing::warn!(?longest, "nothing was noted in time");
            None
        }
    }
}

/// Text between tags. A closing tag inside it gets an invisible space, so that it ends nothing.
fn tagged(name: &str, text: &str) -> String {
    let safe = text.replace(&format!("</{name}"), &format!("<\u{200b}/{name}"));
    format!("<{name}>\n{safe}\n</{name}>")
}
