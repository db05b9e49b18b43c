//! The characters a job remembers for, before and after it.

use loreloom_core::{chat::PathItem, ids::MessageId};

use super::{MemoryService, Policy, Who};
use crate::{
    event::{between, character_records},
    inject::note_shown,
    presence::{characters, is_same_person},
    record::{CharacterMemory, ChatMemory, Insight, InsightKind, Retirement, StoryArc},
    tiers::arcs::merge_persistent,
};
use loreloom_ports::MemoryId;
use loreloom_ports::NewMemoryEvent;
use loreloom_ports::{Job, JobSpeaker, MemoryError, OwnerEvents};

/// What a character remembers, before and after.
pub(super) struct Mind {
    pub(super) who: Who,
    pub(super) before: CharacterMemory,
    pub(super) after: CharacterMemory,
    seen: u64,
    /// Whether it spoke; others only keep who knows what.
    pub(super) speaks: bool,
}

impl Mind {
    /// Who knew what, as it was noted before.
    pub(super) fn insights_before(&self) -> Vec<Insight> {
        self.before.epistemic_knowledge.clone()
    }
}

/// All characters of a job and what their chat remembers.
pub(super) struct Minds {
    pub(super) all: Vec<Mind>,
    pub(super) chat: ChatMemory,
    pub(super) chat_seen: u64,
}

impl MemoryService {
    /// What the speakers of a job remember on a path, and the other characters that speak
    /// on it.
    pub(super) async fn minds(&self, job: &Job, path: &[PathItem]) -> Result<Minds, MemoryError> {
        let speakers: Vec<Who> = job.body.speakers.iter().map(who).collect();
        let is_new = |name: &&&str| !speakers.iter().any(|who| is_same_person(&who.name, name));
        let cast = characters(path);
        let others: Vec<Who> =
            cast.iter().filter(is_new).map(|name| self.known_as(Who::named(name))).collect();
        let mut minds = Minds { all: Vec::new(), chat: ChatMemory::default(), chat_seen: 0 };
        let given = speakers.into_iter().map(|who| (who, true));
        for (who, speaks) in given.chain(others.into_iter().map(|who| (who, false))) {
            let view = self.view(&job.tenant, &job.chat, path, &who).await?;
            (minds.chat, minds.chat_seen) = (view.chat, view.chat_seen);
            minds.all.push(Mind {
                before: CharacterMemory::clone(&view.character),
                after: CharacterMemory::clone(&view.character),
                seen: view.character_seen,
                who,
                speaks,
            });
        }
        minds.pool();
        minds.chat.story_arcs = merge_persistent(&minds.chat.story_arcs, &minds.pinned());
        Ok(minds)
    }

    /// Somebody, with the policy that is set for them.
    pub(super) fn known_as(&self, mut who: Who) -> Who {
        let policies = &self.options.policies;
        let set = policies.get(&who.id).or_else(|| policies.get(&who.name));
        if let Some(policy) = set.filter(|_| who.policy == Policy::Full) {
            who.policy = *policy;
        }
        who
    }
}

impl Minds {
    /// How far the logs had been read.
    pub(super) fn seen(&self) -> Vec<u64> {
        self.all.iter().map(|mind| mind.seen).chain([self.chat_seen]).collect()
    }

    /// Gives the first one all that is known of who knows what: a scene has one map.
    fn pool(&mut self) {
        let mut pool: Vec<Insight> = Vec::new();
        for insight in self.all.iter().flat_map(|mind| &mind.after.epistemic_knowledge) {
            if insight.id.is_empty() || !pool.iter().any(|known| known.id == insight.id) {
                pool.push(insight.clone());
            }
        }
        if let Some(first) = self.all.first_mut() {
            first.after.epistemic_knowledge = pool;
        }
    }

    /// Gives everybody what they know, and what is hidden from them, so that it stays hidden
    /// in their other chats too. What concerns nobody here stays with the first.
    pub(super) fn share_out(&mut self) {
        let Some(first) = self.all.first_mut() else { return };
        let pool = std::mem::take(&mut first.after.epistemic_knowledge);
        let names: Vec<String> = self.all.iter().map(|mind| mind.who.name.clone()).collect();
        let concerns = |insight: &Insight, name: &str| {
            let target = insight.target.as_deref().unwrap_or_default();
            let hidden = insight.kind == InsightKind::Hiding && is_same_person(target, name);
            is_same_person(&insight.subject, name) || hidden
        };
        for (at, mind) in self.all.iter_mut().enumerate() {
            let knew = |insight: &Insight| {
                mind.before.epistemic_knowledge.iter().any(|old| old.id == insight.id)
            };
            let is_nobodys =
                |insight: &Insight| at == 0 && !names.iter().any(|name| concerns(insight, name));
            let own = pool.iter().filter(|insight| {
                knew(insight) || concerns(insight, &names[at]) || is_nobodys(insight)
            });
            mind.after.epistemic_knowledge = own.cloned().collect();
        }
    }

    /// The pinned threads of all who spoke.
    pub(super) fn pinned(&self) -> Vec<StoryArc> {
        let mut pinned: Vec<StoryArc> = Vec::new();
        for arc in self.all.iter().flat_map(|mind| &mind.after.persistent_arcs) {
            if !pinned.iter().any(|known| known.content == arc.content) {
                pinned.push(arc.clone());
            }
        }
        pinned
    }

    /// Closes the pinned threads that came to their end.
    pub(super) fn close(&mut self, arcs: &[StoryArc]) {
        for own in self.all.iter_mut().flat_map(|mind| &mut mind.after.persistent_arcs) {
            own.resolved |= arcs.iter().any(|arc| arc.resolved && arc.content == own.content);
        }
    }

    /// Notes which memories were shown: what is used does not fade.
    pub(super) fn shown(&mut self, shown: &[MemoryId], now: i64, stay: bool) {
        for mind in self.all.iter_mut().filter(|mind| mind.speaks) {
            note_shown(&mut mind.after.memories, shown, now);
            if !stay {
                continue;
            }
            for old in mind.before.memories.iter().filter(|old| shown.contains(&old.id)) {
                let Some(new) = mind.after.memories.iter_mut().find(|new| new.id == old.id) else {
                    continue;
                };
                if new.unconfirmed_since > old.unconfirmed_since {
                    (new.unconfirmed_since, new.confidence) =
                        (old.unconfirmed_since, old.confidence);
                    new.retired = new.retired.filter(|why| *why != Retirement::Unconfirmed);
                }
            }
        }
    }

    /// What changed, for each whose memory may be written.
    pub(super) fn events(&self, anchor: Option<MessageId>) -> Vec<OwnerEvents> {
        let written = self.all.iter().filter(|mind| mind.who.policy.writes());
        written
            .map(|mind| OwnerEvents {
                owner: mind.who.owner(),
                seen: Some(mind.seen),
                events: changes(&mind.before, &mind.after, anchor),
            })
            .collect()
    }
}

/// What changed between two states of a character.
fn changes(
    before: &CharacterMemory,
    after: &CharacterMemory,
    anchor: Option<MessageId>,
) -> Vec<NewMemoryEvent> {
    between(&character_records(before), &character_records(after), anchor)
}

fn who(speaker: &JobSpeaker) -> Who {
    Who {
        id: speaker.id.clone(),
        name: speaker.name.clone(),
        card: speaker.card.clone(),
        world: speaker.world.clone(),
        policy: speaker.policy,
    }
}
