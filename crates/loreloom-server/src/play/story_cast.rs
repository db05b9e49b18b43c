//! Who takes part in a story, with their cards.

use loreloom_core::{
    chat::{Message, Role},
    ids::{ChatId, TenantId},
    turn::CardTexts,
};
use loreloom_formats::Card;
use loreloom_ports::{DocumentStore, StoreError};

use super::{
    names::{last_name, setup_of},
    setup::KeptStory,
};
use crate::cast::{CastDocuments, GroupMember, Kept, KeptCharacter, KeptPersona};

/// A character of a story.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    /// Its id.
    pub(crate) id: String,
    /// Its card.
    pub(crate) card: Card,
}

impl Player {
    /// The name it speaks under.
    pub(crate) fn name(&self) -> &str {
        self.card.spoken_name()
    }
}

/// Everybody who takes part.
#[derive(Clone, Debug)]
pub(crate) struct StoryCast {
    /// The setup.
    pub(crate) setup: KeptStory,
    /// Whether somebody made the setup; otherwise it follows from the names of the messages.
    pub(crate) is_set: bool,
    /// The characters.
    pub(crate) players: Vec<Player>,
    /// The persona.
    pub(crate) persona: Option<Kept<KeptPersona>>,
    /// The name of who spoke last besides the user, if no character is known.
    other: Option<String>,
    /// The name of the user in the messages.
    user: Option<String>,
}

impl StoryCast {
    /// Reads the cast of a chat. A chat without a setup gets one that fits its messages.
    pub(crate) async fn read(
        documents: &dyn DocumentStore,
        tenant: &TenantId,
        chat: &ChatId,
        messages: &[Message],
    ) -> Result<Self, StoreError> {
        let kinds = CastDocuments { documents, tenant };
        let kept = kinds.find::<KeptStory>(chat.as_str()).await?.map(|kept| kept.value);
        Self::of(kinds, kept, messages).await
    }

    /// The cast of a setup.
    pub(crate) async fn of(
        kinds: CastDocuments<'_>,
        setup: Option<KeptStory>,
        messages: &[Message],
    ) -> Result<Self, StoreError> {
        let is_set = setup.is_some();
        let setup = match setup {
            Some(setup) => setup,
            None => setup_of(messages, &kinds.all().await?, &kinds.all().await?),
        };
        let mut players = Vec::new();
        for id in &setup.characters {
            // One that was removed takes part no more.
            if let Some(Kept { id, value, .. }) = kinds.find::<KeptCharacter>(id).await? {
                players.push(Player { id, card: value.card });
            }
        }
        let persona = match &setup.persona {
            Some(id) => kinds.find::<KeptPersona>(id).await?,
            None => None,
        };
        let other = last_name(messages.iter(), Role::Assistant);
        let user = last_name(messages.iter(), Role::User);
        Ok(Self { setup, is_set, players, persona, other, user })
    }

    /// The user's name; `usual` if neither persona nor messages have one.
    pub(crate) fn user(&self, usual: &str) -> String {
        let persona = self.persona.as_ref().map(|persona| persona.value.name.clone());
        persona.or_else(|| self.user.clone()).unwrap_or_else(|| usual.to_owned())
    }

    /// Whether several characters take part.
    pub(crate) fn is_group(&self) -> bool {
        self.players.len() > 1
    }

    /// Who speaks next: the one asked for, or whose turn it is. `None` for a narrator.
    pub(crate) fn next(&self, asked: Option<&str>, messages: &[Message]) -> Option<&Player> {
        if let Some(asked) = asked {
            return self.players.iter().find(|player| player.id == asked);
        }
        if !self.is_group() {
            return self.players.first();
        }
        let speaking = self.players.iter().filter(|one| !self.setup.muted.contains(&one.id));
        let members: Vec<GroupMember<'_>> =
            speaking.map(|one| GroupMember { id: &one.id, name: one.name() }).collect();
        let spoken = messages.iter().filter(|message| message.role == Role::Assistant);
        let spoken: Vec<&str> = spoken.filter_map(|message| message.name.as_deref()).collect();
        let newest = messages.last().map_or("", |message| message.text.as_str());
        let next = self.setup.order.next(&members, &spoken, newest);
        let next = next.or_else(|| members.first().copied())?;
        self.players.iter().find(|player| player.id == next.id)
    }

    /// The name of who speaks next.
    pub(crate) fn speaker_name(&self, player: Option<&Player>) -> Option<String> {
        player.map(|player| player.name().to_owned()).or_else(|| self.other.clone())
    }

    /// The texts that entries may scan.
    pub(crate) fn card_texts(&self, player: Option<&Player>) -> CardTexts {
        let persona = self.persona.as_ref().map(|persona| persona.value.description.clone());
        let mut texts = CardTexts { persona: persona.unwrap_or_default(), ..CardTexts::default() };
        if let Some(Player { card, .. }) = player {
            texts.description.clone_from(&card.description);
            texts.personality.clone_from(&card.personality);
            texts.scenario.clone_from(&card.scenario);
            texts.creator_notes.clone_from(&card.creator_notes);
            let note = card.depth_prompt.as_ref().map(|note| note.prompt.clone());
            texts.depth_prompt = note.unwrap_or_default();
        }
        if let Some(scenario) = &self.setup.scenario {
            texts.scenario.clone_from(scenario);
        }
        texts
    }
}
