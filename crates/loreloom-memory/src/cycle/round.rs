//! What memory does after a round, in which one or more characters spoke.
//!
//! What belongs to the chat is extracted once, whatever the number of speakers. Long-term
//! memories and profiles are extracted for each member that spoke, from what it said and heard.

use std::ops::Range;

use loreloom_core::chat::{PathItem, Role};

use super::{
    Backend, CycleReport, Occasion, Progress, WorkingMemory, extraction, stage::Runner,
    story_stages,
};
use crate::{
    presence::Presence,
    record::{CharacterMemory, ChatMemory, Insight, StoryArc},
    schedule,
    window::heard_by,
};

/// A member of the group that spoke in this round.
#[derive(Debug)]
pub struct Member<'round> {
    /// Its name.
    pub name: &'round str,
    /// Its card as text.
    pub card: &'round str,
    /// What it remembers.
    pub memory: &'round mut CharacterMemory,
}

/// What each member remembers before a round. Without members a round does nothing.
#[derive(Debug)]
pub struct Round<'round> {
    /// What the chat remembers.
    pub chat: &'round mut ChatMemory,
    /// The group's pinned arcs.
    pub arcs: &'round mut Vec<StoryArc>,
    /// The members that spoke, in order. The first one stores who knows what.
    pub members: Vec<Member<'round>>,
}

impl<'round> Round<'round> {
    /// The occasion for the first member, and a copy of what it and the chat remember: a
    /// cancelled run leaves the round unchanged.
    fn first<'turn>(
        &'turn self,
        occasion: Occasion<'turn>,
    ) -> Option<(Occasion<'turn>, WorkingMemory)> {
        let first = self.members.first()?;
        let memory = WorkingMemory { character: first.memory.clone(), chat: self.chat.clone() };
        Some((occasion.of(first), memory))
    }

    /// The seed of a member's ids.
    fn seed(&self, occasion: Occasion<'_>, at: usize) -> String {
        match self.members.len() {
            1 => occasion.seed.to_owned(),
            _ => format!("{}-{at}", occasion.seed),
        }
    }

    /// The occasion of one member, and a copy of what it and the chat remember. What this round
    /// noted of who knows what is with the first member, and holds for all.
    fn open<'turn>(
        &self,
        at: usize,
        occasion: Occasion<'turn>,
        runner: &mut Runner<'_>,
    ) -> (Occasion<'turn>, WorkingMemory)
    where
        'round: 'turn,
    {
        let member = &self.members[at];
        runner.member = (self.members.len() > 1).then(|| member.name.to_owned());
        let mut memory =
            WorkingMemory { character: member.memory.clone(), chat: self.chat.clone() };
        if at > 0 {
            let insights = &mut memory.character.epistemic_knowledge;
            let is_noted = |one: &Insight| insights.iter().any(|own| own == one);
            let noted = self.members[0].memory.epistemic_knowledge.iter();
            let noted: Vec<Insight> = noted.filter(|one| !is_noted(one)).cloned().collect();
            insights.extend(noted);
        }
        (Occasion { character: member.name, card: member.card, ..occasion }, memory)
    }

    /// Stores what a member and the chat remember.
    fn close(&mut self, at: usize, mut memory: WorkingMemory, runner: &mut Runner<'_>) {
        let member = &mut self.members[at];
        if at > 0 {
            // The first one stores them.
            memory.character.epistemic_knowledge =
                std::mem::take(&mut member.memory.epistemic_knowledge);
        }
        *member.memory = memory.character;
        *self.chat = memory.chat;
        runner.member = None;
    }

    /// Stores what the first member and the chat remember.
    fn store(&mut self, memory: WorkingMemory) {
        if let Some(first) = self.members.first_mut() {
            *first.memory = memory.character;
        }
        *self.chat = memory.chat;
    }
}

impl<'turn> Occasion<'turn> {
    /// The same occasion for one member.
    fn of(self, member: &'turn Member<'_>) -> Self {
        Self { character: member.name, card: member.card, ..self }
    }
}

/// Does all that is due after a round. The reply of the last member is checked.
///
/// `occasion` names no character: its `character` and `card` are not read. `progress` holds the
/// answers: with the same memories, a second run asks only what is still open. After a failure
/// the caller either drops the changes and runs again later, or stores them; the next extraction
/// then reads the messages again.
pub async fn after_round(
    occasion: Occasion<'_>,
    mut round: Round<'_>,
    backend: Backend<'_>,
    progress: &mut Progress,
) -> CycleReport {
    let mut runner = Runner::new(occasion, backend, progress);
    let Some((as_first, mut shared)) = round.first(occasion) else { return runner.report };
    story_stages::compact(as_first, &mut shared, &mut runner).await;
    story_stages::scene(as_first, &mut shared, &mut runner).await;
    round.store(shared);
    if let Some(due) = due(occasion, &round) {
        extract(occasion, &due, &mut round, &mut runner).await;
    }
    round.chat.pending_repair = None;
    if let Some(member) = round.members.last() {
        let chat = std::mem::take(round.chat);
        let mut own = WorkingMemory { character: member.memory.clone(), chat };
        story_stages::continuity(occasion.of(member), &mut own, &mut runner).await;
        *round.chat = own.chat;
    }
    round.chat.last_active = Some(occasion.now);
    runner.report
}

/// Extracts memories from settled messages, for all who spoke since the last time, and
/// summarises a long story.
pub async fn extract_round(
    occasion: Occasion<'_>,
    mut round: Round<'_>,
    backend: Backend<'_>,
    progress: &mut Progress,
) -> CycleReport {
    let mut runner = Runner::new(occasion, backend, progress);
    let Some((as_first, mut shared)) = round.first(occasion) else { return runner.report };
    story_stages::compact(as_first, &mut shared, &mut runner).await;
    round.store(shared);
    if let Some(due) = due(occasion, &round) {
        extract(occasion, &due, &mut round, &mut runner).await;
    }
    runner.report
}

/// A piece of an existing chat.
#[derive(Clone, Debug)]
pub struct ChatPiece {
    /// Its messages, at the end of the path.
    pub window: Range<usize>,
    /// Whether it is the last piece. The last one also summarises the story.
    pub is_last: bool,
}

/// Extracts memories from a piece of an existing chat.
pub async fn catch_up(
    occasion: Occasion<'_>,
    piece: ChatPiece,
    mut round: Round<'_>,
    backend: Backend<'_>,
    progress: &mut Progress,
) -> CycleReport {
    let mut runner = Runner::new(occasion, backend, progress);
    let Some((as_first, mut shared)) = round.first(occasion) else { return runner.report };
    for end in piece.window.clone() {
        // A scene may end with every exchange, and each exchange has its own answers.
        if occasion.path[end].message.role == Role::User && end > 0 {
            let exchange = Occasion { path: &occasion.path[..=end], ..as_first };
            runner.member = Some(end.to_string());
            story_stages::scene(exchange, &mut shared, &mut runner).await;
        }
    }
    runner.member = None;
    round.store(shared);
    let due = schedule::Extraction {
        session: piece.window.clone(),
        longterm: piece.window.clone(),
        arcs: piece.window.clone(),
        cutoff: piece.window.end,
    };
    extract(occasion, &due, &mut round, &mut runner).await;
    if let Some((as_first, mut shared)) = round.first(occasion).filter(|_| piece.is_last) {
        story_stages::compact(as_first, &mut shared, &mut runner).await;
        round.store(shared);
    }
    runner.report
}

fn due(occasion: Occasion<'_>, round: &Round<'_>) -> Option<schedule::Extraction> {
    let (last, settings) = (round.chat.last_extract_cutoff, occasion.config.settings);
    schedule::extraction_for(occasion.path, last, settings, round.members.len())
}

/// Runs the passes of an extraction: once for the chat, then for each member. Its end is stored
/// only if no pass failed.
async fn extract(
    occasion: Occasion<'_>,
    due: &schedule::Extraction,
    round: &mut Round<'_>,
    runner: &mut Runner<'_>,
) {
    let failed = runner.report.failed.len();
    let asked = extraction::TogetherQuestion {
        chat: round.chat,
        members: round.members.iter().map(|one| (one.name, one.card, &*one.memory)).collect(),
    };
    let contradictions = match asked.members.first() {
        Some((name, card, _)) => {
            let as_first = Occasion { character: name, card, ..occasion };
            extraction::together(as_first, due, asked, runner).await
        }
        None => return,
    };
    if runner.report.failed.len() > failed {
        return;
    }
    let Some((as_first, mut shared)) = round.first(occasion) else { return };
    extraction::session(as_first, due, &mut shared, runner).await;
    story_stages::knowledge(as_first, due, &mut shared, runner).await;
    round.store(shared);
    for at in 0..round.members.len() {
        let seed = round.seed(occasion, at);
        let (own, mut memory) = round.open(at, Occasion { seed: &seed, ..occasion }, runner);
        let heard = (round.members.len() > 1).then(|| heard(own, due.longterm.clone()));
        extraction::longterm(own, due, heard.as_deref(), &mut memory, runner).await;
        round.close(at, memory, runner);
    }
    let Some((as_first, mut shared)) = round.first(occasion) else { return };
    let own_arcs = std::mem::replace(&mut shared.character.persistent_arcs, round.arcs.clone());
    let writes_canon = extraction::arcs(as_first, due, &mut shared, runner).await;
    let arcs = std::mem::replace(&mut shared.character.persistent_arcs, own_arcs);
    extraction::ledger(as_first, due, &mut shared, runner).await;
    story_stages::keep_contradictions(as_first, due, &mut shared, contradictions, runner);
    *round.arcs = arcs;
    round.store(shared);
    // What is built from long-term memories comes after them.
    for at in 0..round.members.len() {
        let seed = round.seed(occasion, at);
        let (own, mut memory) = round.open(at, Occasion { seed: &seed, ..occasion }, runner);
        if writes_canon {
            extraction::write_canon(own, &mut memory, runner).await;
        }
        story_stages::profile(own, &mut memory, runner).await;
        round.close(at, memory, runner);
    }
    if runner.report.failed.len() == failed {
        round.chat.last_extract_cutoff = Some(due.cutoff);
        round.chat.extract_receipt = occasion.last_of(due.cutoff);
    }
}

/// What a member heard of a window.
fn heard(own: Occasion<'_>, window: Range<usize>) -> Vec<PathItem> {
    let presence = if own.config.rules.keeps_secrets {
        Presence::of(own.path, own.character)
    } else {
        Presence::default()
    };
    heard_by(own.path, window, own.character, &presence, own.config.rules.text)
}
