//! The model's notebook: what it noted in a reply, or what another model finds worth noting,
//! is kept at that reply.

use std::time::Duration;

use loreloom_core::{
    chat::{Path, Role},
    notebook::{ModelNotebook, NOTHING_TO_NOTE, NotebookMode, NotebooksDelta, Noted},
    prompt::PromptMessage,
    state::StateDelta,
};
use loreloom_ports::{ChatRequest, StoreError, TurnRecord};

use crate::app::App;

impl App {
    /// Keeps what the model noted at the reply that a path ends with, or has it looked for.
    pub(crate) async fn note(&self, path: &Path, notes: Option<String>) -> Result<(), StoreError> {
        let lore = self.stacks.lore();
        let Some(rules) = &lore.rules().notebooks.model else { return Ok(()) };
        match (rules.mode, notes) {
            (NotebookMode::Tag, Some(notes)) => self.keep_notes(path, notes, rules.most).await,
            (NotebookMode::Tag, None) => Ok(()),
            (NotebookMode::Extract, _) => {
                let (app, path, rules) = (self.clone(), path.clone(), rules.clone());
                self.tasks.spawn(async move {
                    let found = app.find_notes(&path, &rules).await;
                    let Some(notes) = found else { return };
                    if let Err(error) = app.keep_notes(&path, notes, rules.most).await {
                        tracing::warn!(%error, "the notes were not stored");
                    }
                });
                Ok(())
            }
        }
    }

    async fn keep_notes(&self, path: &Path, notes: String, most: u32) -> Result<(), StoreError> {
        let noted = Some(Noted { notes, most });
        let notebooks = NotebooksDelta { noted, ..NotebooksDelta::default() };
        let delta = StateDelta { notebooks, ..StateDelta::default() };
        let edit = TurnRecord::edit(path, delta, self.clock.now());
        self.store.commit_turn(&self.tenant, path, &edit, None).await.map(drop)
    }

    /// What a model that reads the reply finds worth noting.
    async fn find_notes(&self, path: &Path, rules: &ModelNotebook) -> Option<String> {
        let model = self.noting.as_ref()?;
        let reply = &path.items().last()?.message.text;
        let state = self.store.state(&self.tenant, path).await;
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
}

/// Text between tags; the closing tag inside it is broken by a blank that nobody sees.
fn tagged(name: &str, text: &str) -> String {
    let safe = text.replace(&format!("</{name}"), &format!("<\u{200b}/{name}"));
    format!("<{name}>\n{safe}\n</{name}>")
}
