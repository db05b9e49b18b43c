//! What memory does after a round of a group chat.
//!
//! What belongs to the chat is drawn once, whatever the number of speakers. Long-term
//! memories and profiles are drawn for each member that spoke, from what it said and heard.

use loreloom_core::chat::Role;

use super::{
    Backend, CycleReport, Occasion, Progress, WorkingMemory, extraction, stage::Runner, telling,
};
use crate::{
    presence::Presence,
    record::{CharacterMemory, ChatMemory, StoryArc},
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

/// What the members of a group share.
#[derive(Debug)]
pub struct Round<'round> {
    /// What the chat remembers.
    pub chat: &'round mut ChatMemory,
    /// The group's pinned threads.
    pub arcs: &'round mut Vec<StoryArc>,
}

/// Does all that is due after a round. `members` are those that spoke, in order; the first
/// keeps who knows what, the last one's reply is checked. Without members nothing happens.
///
/// `occasion` names no character of its own: its `character` and `card` are not read.
pub async fn after_round(
    occasion: Occasion<'_>,
    round: Round<'_>,
    members: &mut [Member<'_>],
    backend: Backend<'_>,
    progress: &mut Progress,
) -> CycleReport {
    let mut runner = Runner::new(backend, progress);
    let Some(first) = members.first() else { return runner.report };
    let as_first = Occasion { character: first.name, card: first.card, ..occasion };
    // Copies, so that a cancelled run leaves what was handed in as it was.
    let mut shared = WorkingMemory { character: first.memory.clone(), chat: round.chat.clone() };
    telling::compact(as_first, &mut shared, &mut runner).await;
    telling::scene(as_first, &mut shared, &mut runner).await;
    *members[0].memory = shared.character;
    let last = shared.chat.last_extract_cutoff;
    let due =
        schedule::extraction_for(occasion.path, last, occasion.config.settings, members.len());
    let mut chat = shared.chat;
    if let Some(due) = due {
        let round = Round { chat: &mut chat, arcs: round.arcs };
        extracted_by(occasion, &due, round, members, &mut runner).await;
    }
    chat.pending_repair = None;
    if let Some(member) = members.last() {
        let as_last = Occasion { character: member.name, card: member.card, ..occasion };
        let mut own = WorkingMemory { character: member.memory.clone(), chat };
        runner.member = None;
        telling::continuity(as_last, &mut own, &mut runner).await;
        chat = own.chat;
    }
    chat.last_active = Some(occasion.now);
    *round.chat = chat;
    runner.report
}

/// Draws memories from what is settled, for all who spoke since the last time, and retells a
/// story that has become long.
pub async fn draw_round(
    occasion: Occasion<'_>,
    round: Round<'_>,
    members: &mut [Member<'_>],
    backend: Backend<'_>,
    progress: &mut Progress,
) -> CycleReport {
    let mut runner = Runner::new(backend, progress);
    let Some(first) = members.first() else { return runner.report };
    let as_first = Occasion { character: first.name, card: first.card, ..occasion };
    let mut shared = WorkingMemory { character: first.memory.clone(), chat: round.chat.clone() };
    telling::compact(as_first, &mut shared, &mut runner).await;
    *round.chat = shared.chat;
    let last = round.chat.last_extract_cutoff;
    let due =
        schedule::extraction_for(occasion.path, last, occasion.config.settings, members.len());
    if let Some(due) = due {
        extracted_by(occasion, &due, round, members, &mut runner).await;
    }
    runner.report
}

/// Draws memories from a piece of a story that was told long ago: the messages of `window`,
/// at the end of the path. The last piece also retells the story.
pub async fn piece(
    occasion: Occasion<'_>,
    window: std::ops::Range<usize>,
    is_last: bool,
    round: Round<'_>,
    members: &mut [Member<'_>],
    backend: Backend<'_>,
    progress: &mut Progress,
) -> CycleReport {
    let mut runner = Runner::new(backend, progress);
    let Some(first) = members.first() else { return runner.report };
    let as_first = Occasion { character: first.name, card: first.card, ..occasion };
    let mut shared = WorkingMemory { character: first.memory.clone(), chat: round.chat.clone() };
    for end in window.clone() {
        // A scene may end with every exchange; each has answers of its own.
        if occasion.path[end].message.role == Role::User && end > 0 {
            let exchange = Occasion { path: &occasion.path[..=end], ..as_first };
            runner.member = Some(end.to_string());
            telling::scene(exchange, &mut shared, &mut runner).await;
        }
    }
    runner.member = None;
    *members[0].memory = shared.character;
    *round.chat = shared.chat;
    let due = schedule::Extraction {
        session: window.clone(),
        longterm: window.clone(),
        arcs: window.clone(),
        cutoff: window.end,
    };
    let inner = Round { chat: &mut *round.chat, arcs: round.arcs };
    extracted_by(occasion, &due, inner, members, &mut runner).await;
    if is_last {
        let memory = members[0].memory.clone();
        let mut shared = WorkingMemory { character: memory, chat: round.chat.clone() };
        telling::compact(as_first, &mut shared, &mut runner).await;
        *round.chat = shared.chat;
    }
    runner.report
}

/// Runs the passes of an extraction: once for the chat, then for each member. How far it read
/// counts only if all of them did.
async fn extracted_by(
    occasion: Occasion<'_>,
    due: &schedule::Extraction,
    round: Round<'_>,
    members: &mut [Member<'_>],
    runner: &mut Runner<'_>,
) {
    let failed = runner.report.failed.len();
    let Some(first) = members.first() else { return };
    let as_first = Occasion { character: first.name, card: first.card, ..occasion };
    let mut shared = WorkingMemory { character: first.memory.clone(), chat: round.chat.clone() };
    if members.len() == 1 {
        super::extracted(as_first, due, &mut shared, runner).await;
        telling::profile(as_first, &mut shared, runner).await;
        *members[0].memory = shared.character;
        *round.chat = shared.chat;
        return;
    }
    extraction::session(as_first, due, &mut shared, runner).await;
    let own_arcs = std::mem::replace(&mut shared.character.persistent_arcs, round.arcs.clone());
    extraction::arcs(as_first, due, &mut shared, runner).await;
    *round.arcs = std::mem::replace(&mut shared.character.persistent_arcs, own_arcs);
    extraction::ledger(as_first, due, &mut shared, runner).await;
    *members[0].memory = shared.character;
    let mut chat = shared.chat;
    for (at, member) in members.iter_mut().enumerate() {
        let presence = if occasion.config.rules.keeps_secrets {
            Presence::of(occasion.path, member.name)
        } else {
            Presence::default()
        };
        let heard = heard_by(occasion.path, due.longterm.clone(), member.name, &presence);
        let seed = format!("{}-{at}", occasion.seed);
        let as_member =
            Occasion { character: member.name, card: member.card, seed: &seed, ..occasion };
        let mut own = WorkingMemory { character: member.memory.clone(), chat };
        runner.member = Some(member.name.to_owned());
        extraction::longterm(as_member, due, Some(&heard), &mut own, runner).await;
        telling::profile(as_member, &mut own, runner).await;
        *member.memory = own.character;
        chat = own.chat;
    }
    runner.member = None;
    if runner.report.failed.len() == failed {
        chat.last_extract_cutoff = Some(due.cutoff);
        chat.extract_receipt = occasion.last_of(due.cutoff);
    }
    *round.chat = chat;
}
