//! The characters that a job remembers for, before and after its pass.

use loreloom_core::{chat::PathItem, ids::MessageId};
use loreloom_ports::{Job, JobSpeaker, MemoryError, MemoryId, OwnerEvents};

use super::{StateChange, changed_character};
use crate::{
    cycle::{Member, Round},
    inject::note_shown,
    people::People,
    presence::{Presence, characters},
    record::{CharacterMemory, ChatMemory, Insight, Memory, MemoryKind, Retirement, StoryArc},
    secrets::{Hearers, SecretSources, Secrets},
    service::{PathViews, Who},
    tiers::arcs::merge_persistent,
};

/// What a character remembers, before and after.
pub(super) struct JobCharacter {
    pub(super) who: Who,
    pub(super) before: CharacterMemory,
    pub(super) after: CharacterMemory,
    seen: u64,
    /// Whether it spoke. Of the others only who knows what is stored.
    pub(super) speaks: bool,
}

impl JobCharacter {
    /// Takes back what a pass without confirmation did to these memories.
    fn do_not_fade(&mut self, is_meant: impl Fn(&Memory) -> bool) {
        for old in self.before.memories.iter().filter(|old| is_meant(old)) {
            let new = self.after.memories.iter_mut().find(|new| new.id == old.id);
            if let Some(new) = new.filter(|new| new.unconfirmed_since > old.unconfirmed_since) {
                (new.unconfirmed_since, new.confidence) = (old.unconfirmed_since, old.confidence);
                new.retired = new.retired.filter(|why| *why != Retirement::Unconfirmed);
            }
        }
    }

    /// Who knew what before.
    pub(super) fn insights_before(&self) -> Vec<Insight> {
        self.before.epistemic_knowledge.clone()
    }
}

/// All characters of a job, and what their chat remembers.
pub(super) struct JobCharacters {
    pub(super) all: Vec<JobCharacter>,
    pub(super) chat: ChatMemory,
    pub(super) chat_seen: u64,
}

impl JobCharacters {
    /// What the speakers of a job, and the other characters on the path, remember.
    pub(super) async fn load(
        views: &PathViews,
        job: &Job,
        path: &[PathItem],
    ) -> Result<Self, MemoryError> {
        let speakers: Vec<Who> = job.body.speakers.iter().map(who).collect();
        let people = People::of(path);
        let is_new = |name: &&&str| !speakers.iter().any(|who| people.are_one(&who.name, name));
        let named = characters(path);
        let others: Vec<Who> =
            named.iter().filter(is_new).map(|name| views.with_policy(Who::named(name))).collect();
        let mut cast = Self { all: Vec::new(), chat: ChatMemory::default(), chat_seen: 0 };
        let given = speakers.into_iter().map(|who| (who, true));
        for (who, speaks) in given.chain(others.into_iter().map(|who| (who, false))) {
            let view = views.view(&job.tenant, &job.chat, path, &who).await?;
            (cast.chat, cast.chat_seen) = (view.chat, view.chat_seen);
            cast.all.push(JobCharacter {
                before: CharacterMemory::clone(&view.character),
                after: CharacterMemory::clone(&view.character),
                seen: view.character_seen,
                who,
                speaks,
            });
        }
        cast.pool();
        cast.chat.story_arcs = merge_persistent(&cast.chat.story_arcs, &cast.pinned());
        Ok(cast)
    }

    /// The first character: the one that replied.
    pub(super) fn first(&self) -> Who {
        self.all.first().map(|one| one.who.clone()).unwrap_or_default()
    }

    /// The round of those that spoke, for a pass.
    pub(super) fn round<'cast>(&'cast mut self, arcs: &'cast mut Vec<StoryArc>) -> Round<'cast> {
        let speaking = self.all.iter_mut().filter(|one| one.speaks);
        let members = speaking
            .map(|one| Member { name: &one.who.name, card: &one.who.card, memory: &mut one.after })
            .collect();
        Round { chat: &mut self.chat, arcs, members }
    }

    /// How much of the logs was read.
    pub(super) fn seen(&self) -> Vec<u64> {
        self.all.iter().map(|one| one.seen).chain([self.chat_seen]).collect()
    }

    /// Gives the first character all insights: a scene has one map of who knows what.
    fn pool(&mut self) {
        let mut pool: Vec<Insight> = Vec::new();
        for insight in self.all.iter().flat_map(|one| &one.after.epistemic_knowledge) {
            if insight.id.is_empty() || !pool.iter().any(|known| known.id == insight.id) {
                pool.push(insight.clone());
            }
        }
        if let Some(first) = self.all.first_mut() {
            first.after.epistemic_knowledge = pool;
        }
    }

    /// Gives each character what it knows, and what is hidden from it, so that it stays hidden
    /// in its other chats too. Insights about nobody here stay with the first.
    pub(super) fn share_out(&mut self, path: &[PathItem]) {
        let Some(first) = self.all.first_mut() else { return };
        let pool = std::mem::take(&mut first.after.epistemic_knowledge);
        let names: Vec<String> = self.all.iter().map(|one| one.who.name.clone()).collect();
        let people = People::of(path);
        let hearers = Hearers::of(&people, path, &pool);
        let concerns = |insight: &Insight, name: &str| {
            people.are_one(&insight.subject, name) || hearers.is_hidden_from(insight, name)
        };
        for (at, one) in self.all.iter_mut().enumerate() {
            let knew = |insight: &Insight| {
                one.before.epistemic_knowledge.iter().any(|old| old.id == insight.id)
            };
            let concerns_nobody =
                |insight: &Insight| at == 0 && !names.iter().any(|name| concerns(insight, name));
            let own = pool.iter().filter(|insight| {
                knew(insight) || concerns(insight, &names[at]) || concerns_nobody(insight)
            });
            one.after.epistemic_knowledge = own.cloned().collect();
        }
    }

    /// The pinned arcs of all characters.
    pub(super) fn pinned(&self) -> Vec<StoryArc> {
        let mut pinned: Vec<StoryArc> = Vec::new();
        for arc in self.all.iter().flat_map(|one| &one.after.persistent_arcs) {
            if !pinned.iter().any(|known| known.content == arc.content) {
                pinned.push(arc.clone());
            }
        }
        pinned
    }

    /// Closes the pinned arcs that ended.
    pub(super) fn close(&mut self, arcs: &[StoryArc]) {
        for own in self.all.iter_mut().flat_map(|one| &mut one.after.persistent_arcs) {
            own.resolved |= arcs.iter().any(|arc| arc.resolved && arc.content == own.content);
        }
    }

    /// Notes which memories were shown. With `stay`, memories that are used do not fade.
    pub(super) fn shown(&mut self, shown: &[MemoryId], now: i64, stay: bool) {
        for one in self.all.iter_mut().filter(|one| one.speaks) {
            note_shown(&mut one.after.memories, shown, now);
            if !stay {
                continue;
            }
            one.do_not_fade(|memory| shown.contains(&memory.id));
        }
    }

    /// Keeps memories from fading that are withheld from their own character: no prompt shows
    /// them, so nothing can confirm them.
    pub(super) fn keep_withheld(&mut self, path: &[PathItem]) {
        let people = People::of(path);
        for at in 0..self.all.len() {
            let name = self.all[at].who.name.clone();
            let others = self.all.iter().enumerate().filter(|(other, _)| *other != at);
            let private = others.flat_map(|(_, one)| &one.after.memories);
            let sources = SecretSources {
                insights: self.all.iter().flat_map(|one| &one.after.epistemic_knowledge).collect(),
                private: private.filter(|one| one.kind == MemoryKind::Private).collect(),
                path,
                people: &people,
                presence: &Presence::among(&people, path, &name),
                embed: None,
            };
            let secrets = Secrets::of(&sources, &name);
            if !secrets.is_empty() {
                self.all[at].do_not_fade(|memory| secrets.told_by_memory(memory));
            }
        }
    }

    /// What changed, for each character whose memory may be written.
    pub(super) fn events(&self, anchor: Option<MessageId>) -> Vec<OwnerEvents> {
        let written = self.all.iter().filter(|one| one.who.policy.writes());
        let changed = |one: &JobCharacter| {
            let (before, after, seen) = (&one.before, &one.after, one.seen);
            changed_character(one.who.owner(), &StateChange { before, after, seen, anchor })
        };
        written.map(changed).collect()
    }
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
