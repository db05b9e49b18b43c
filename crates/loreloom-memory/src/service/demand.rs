//! What people ask memory for at once: a summary, canon, a profile, a check of the newest
//! reply. It is written like the work of a job, and can be undone like it.

use loreloom_core::{
    digest::Hasher,
    ids::{ChatId, MessageId, TenantId},
};

use super::{MemoryService, View, Who, work::without_clock};
use crate::{
    cycle::{self, Backend, Demand, Occasion, Progress, Remembered},
    event::{between, character_records, chat_records},
    hardware::Hardware,
    record::CharacterMemory,
    text::QuarterEstimate,
    tiers::Config,
};
use loreloom_ports::MemoryWriteId;
use loreloom_ports::{Author, MemoryError, ModelError, Owner, OwnerEvents, SeenStory, Write};

/// What came of a demand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answered {
    /// The write, if anything changed.
    pub write: Option<MemoryWriteId>,
    /// What the newest reply contradicts.
    pub contradictions: Vec<String>,
}

/// Why a demand was not met. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum DemandError {
    /// There is no such chat.
    #[error("there is no chat `{chat}`")]
    NoChat {
        /// The chat asked for.
        chat: ChatId,
    },
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The store failed, or the story went on meanwhile.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl MemoryService {
    /// Does at once what somebody asks for.
    pub async fn demand(
        &self,
        tenant: &TenantId,
        chat: &ChatId,
        who: &Who,
        demand: Demand,
        backend: Backend<'_>,
    ) -> Result<Answered, DemandError> {
        let record = self.ports.story.chat(tenant, chat).await.map_err(MemoryError::from)?;
        let record = record.ok_or_else(|| DemandError::NoChat { chat: chat.clone() })?;
        let path = self.items(tenant, chat, record.tip).await?;
        let view = self.view(tenant, chat, &path, who).await?;
        let now = self.ports.clock.now();
        let hasher = Hasher::new("demand").field(chat.as_str().as_bytes());
        let seed = hasher.number(now.0.unsigned_abs()).number(record.version).finish();
        let seed = seed.to_string()[..16].to_owned();
        let model = self.used();
        let occasion = Occasion {
            config: Config {
                settings: &self.options.settings,
                rules: &self.options.rules,
                hardware: model.as_ref().map_or(Hardware::A, |model| model.hardware),
            },
            path: &path,
            chat_id: chat.as_str(),
            character: &who.name,
            card: &who.card,
            context: model.map_or(loreloom_core::units::Tokens(8192), |model| model.context),
            counter: &QuarterEstimate,
            now: now.0,
            seed: &seed,
        };
        let character = CharacterMemory::clone(&view.character);
        let mut remembered = Remembered { character, chat: view.chat.clone() };
        let mut progress = Progress::default();
        let mut report =
            cycle::on_demand(demand, occasion, &mut remembered, backend, &mut progress).await;
        if let Some((_, error)) = report.failed.pop() {
            return Err(error.source.into());
        }
        let anchor = path.last().map(|item| item.id);
        let mut owners = changes(&view, &remembered, anchor, who, chat);
        owners.retain(|given| !given.events.is_empty());
        let contradictions = report.contradictions;
        if owners.is_empty() {
            return Ok(Answered { write: None, contradictions });
        }
        let write = Write {
            id: MemoryWriteId(seed),
            author: Author::Pass,
            note: "on demand".to_owned(),
            chat: Some(chat.clone()),
            at: now,
            story: Some(SeenStory { chat: chat.clone(), version: record.version }),
            job: None,
            owners,
        };
        self.ports.log.write(tenant, &write).await?;
        Ok(Answered { write: Some(write.id), contradictions })
    }
}

/// What changed, of the character and of the chat.
fn changes(
    view: &View,
    remembered: &Remembered,
    anchor: Option<MessageId>,
    who: &Who,
    chat: &ChatId,
) -> Vec<OwnerEvents> {
    let before = chat_records(&view.chat);
    let after = without_clock(chat_records(&remembered.chat), &before);
    let was = character_records(&view.character);
    let is = character_records(&remembered.character);
    vec![
        OwnerEvents {
            owner: who.owner(),
            seen: Some(view.character_seen),
            events: between(&was, &is, anchor),
        },
        OwnerEvents {
            owner: Owner::Chat(chat.clone()),
            seen: Some(view.chat_seen),
            events: between(&before, &after, anchor),
        },
    ]
}
