//! What memory does after a round of a group chat.
//!
//! What belongs to the chat is drawn once, whatever the number of speakers. Long-term
//! memories and profiles are drawn for each member that spoke, from what it said and heard.

use super::{Backend, Occasion, Progress, Remembered, Report, extraction, stage::Runner, telling};
use crate::{
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
) -> Report {
    let mut runner = Runner::new(backend, progress);
    let Some(first) = members.first() else { return runner.report };
    let as_first = Occasion { character: first.name, card: first.card, ..occasion };
    // Copies, so that a cancelled run leaves what was handed in as it was.
    let mut shared = Remembered { character: first.memory.clone(), chat: round.chat.clone() };
    telling::compact(as_first, &mut shared, &mut runner).await;
    telling::scene(as_first, &mut shared, &mut runner).await;
    let last = shared.chat.last_extract_cutoff;
    let due = schedule::extraction(occasion.path, last, occasion.config.settings);
    let failed = runner.report.failed.len();
    if let Some(due) = &due {
        extraction::session(as_first, due, &mut shared, &mut runner).await;
        let own_arcs = std::mem::replace(&mut shared.character.persistent_arcs, round.arcs.clone());
        extraction::arcs(as_first, due, &mut shared, &mut runner).await;
        *round.arcs = std::mem::replace(&mut shared.character.persistent_arcs, own_arcs);
        extraction::ledger(as_first, due, &mut shared, &mut runner).await;
    }
    *members[0].memory = shared.character;
    let mut chat = shared.chat;
    for (at, member) in members.iter_mut().enumerate() {
        let Some(due) = &due else { break };
        let heard = heard_by(&occasion.path[due.longterm.clone()], member.name);
        let seed = format!("{}-{at}", occasion.seed);
        let as_member =
            Occasion { character: member.name, card: member.card, seed: &seed, ..occasion };
        let mut own = Remembered { character: member.memory.clone(), chat };
        runner.member = Some(member.name.to_owned());
        extraction::longterm(as_member, due, Some(&heard), &mut own, &mut runner).await;
        telling::profile(as_member, &mut own, &mut runner).await;
        *member.memory = own.character;
        chat = own.chat;
    }
    if let Some(due) = due.filter(|_| runner.report.failed.len() == failed) {
        chat.last_extract_cutoff = Some(due.cutoff);
        chat.extract_receipt = occasion.last_of(due.cutoff);
    }
    chat.pending_repair = None;
    if let Some(member) = members.last() {
        let as_last = Occasion { character: member.name, card: member.card, ..occasion };
        let mut own = Remembered { character: member.memory.clone(), chat };
        runner.member = None;
        telling::continuity(as_last, &mut own, &mut runner).await;
        chat = own.chat;
    }
    chat.last_active = Some(occasion.now);
    *round.chat = chat;
    runner.report
}
