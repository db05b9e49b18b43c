//! One turn: which text keeps its place, which gets one, which goes.

use std::{collections::BTreeSet, sync::Arc};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::{
    Anchor, Ledger, LedgerDelta, Slip, SourceLookup, StableSettings, cut,
    ledger::{slip_id, source_key},
    nature::{is_marked, is_volatile},
};
use crate::{
    chat::Role,
    digest::Hasher,
    ids::{Digest, MessageId, SlipId},
    place::{Injection, Place, Provenance},
    units::{Depth, MessageCount, Tokens},
};

/// What must be known of a turn's prompt.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    /// The messages of the story that the prompt holds, oldest first: those by which depth
    /// is counted.
    pub window: &'a [MessageId],
    /// Fingerprint of everything before the chat.
    pub head: Digest,
    /// Messages on the path, in the prompt or not.
    pub length: MessageCount,
    /// Places that the prompt marks itself.
    pub marked: &'a [Place],
    /// The most tokens that all texts together may take.
    pub limit: Tokens,
}

/// The fingerprint of everything before the chat.
pub fn fingerprint<'text>(head: impl IntoIterator<Item = (Role, &'text str)>) -> Digest {
    let hasher = head.into_iter().fold(Hasher::new("head"), |hasher, (role, text)| {
        hasher.field(role.as_str().as_bytes()).field(text.as_bytes())
    });
    hasher.finish()
}

/// The zone of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Zone {
    /// Before the chat, since the first turn.
    Head,
    /// At the message it was placed before.
    Ledger,
    /// Near the end, placed again every turn.
    Tail,
    /// Where a marker asks for it.
    Marked,
}

/// A text with its place of this turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Laid {
    /// The text, to be put into the prompt.
    pub injection: Injection,
    /// Its zone.
    pub zone: Zone,
    /// The length of the story when it was first not asked for, if it stays anyway.
    pub idle_since: Option<MessageCount>,
}

impl Laid {
    /// Whether it stays though the turn does not ask for it.
    pub fn lingers(&self) -> bool {
        self.idle_since.is_some()
    }
}

/// Why a text left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Eviction {
    /// Its source says something else now.
    Rewritten,
    /// Its source has nothing to say any more, or something else, though nobody asks for it.
    Withdrawn,
    /// The message after it is no longer in the prompt.
    Unanchored,
    /// At a cut-off.
    CutOff(CutOff),
}

/// Why texts leave together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutOff {
    /// The prompt changed before them anyway.
    Broken,
    /// There was too much waste.
    Waste,
    /// The budget had no room for them.
    Budget,
}

/// A text that left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evicted {
    /// Where it came from.
    pub source: Provenance,
    /// Its tokens.
    pub tokens: Tokens,
    /// Why it left.
    pub why: Eviction,
}

/// The places of all texts of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub struct Planned {
    /// The texts, in the order in which they are to be joined.
    pub laid: Vec<Laid>,
    /// Texts for which the limit had no room.
    pub left_out: Vec<Injection>,
    /// Texts that left.
    pub evicted: Vec<Evicted>,
    /// How many of the window's oldest messages are to be left out of the prompt.
    pub skip: usize,
    /// What the turn changes in the ledger.
    pub delta: LedgerDelta,
}

impl Planned {
    /// The texts with their places, for the planner of the prompt.
    pub fn injections(&self) -> Vec<Injection> {
        self.laid.iter().map(|laid| laid.injection.clone()).collect()
    }

    /// Whether texts of this source move from turn to turn.
    pub fn is_tail(&self, source: &Provenance) -> bool {
        self.laid.iter().any(|laid| laid.zone == Zone::Tail && laid.injection.source == *source)
    }
}

/// Places the texts of a turn. The ledger is that of the path before its newest message. All texts
/// together, lingering ones too, take at most `scene.limit` tokens; the rest is left out from the
/// end of `injections`. `sources` says which texts may linger.
pub fn plan(
    scene: &PlanInput<'_>,
    injections: &[Injection],
    sources: &dyn SourceLookup,
    ledger: &Ledger,
    settings: &StableSettings,
) -> Planned {
    let limit = scene.limit;
    let (admitted, left_out) = admit(injections, limit);
    let mut draft = Draft::new(scene, ledger, settings);
    let volatile = |one: &Injection| is_volatile(one, settings) || sources.comes_and_goes(one);
    let sorted = draft.sort(&admitted, &volatile);
    draft.drop_rewritten(&admitted, &sorted);
    draft.drop_withdrawn(&sorted, sources);
    draft.drop_unanchored(&sorted);
    draft.mark_idle(&sorted);
    let asked = admitted.iter().map(|one| u64::from(one.tokens.0)).sum();
    draft.cut(asked, limit);
    draft.place_new(&sorted, sources);
    draft.finish(&sorted, left_out, ledger)
}

/// Takes texts in their order, skipping those that do not fit.
fn admit(injections: &[Injection], limit: Tokens) -> (Vec<&Injection>, Vec<Injection>) {
    let mut left = limit;
    let (mut admitted, mut left_out) = (Vec::new(), Vec::new());
    for injection in injections {
        match left.checked_sub(injection.tokens) {
            Some(rest) => {
                left = rest;
                admitted.push(injection);
            }
            None => left_out.push(injection.clone()),
        }
    }
    (admitted, left_out)
}

/// The texts of a turn by what may become of them.
struct Sorted<'a> {
    marked: Vec<&'a Injection>,
    lasting: Vec<(SlipId, &'a Injection)>,
    tail: Vec<&'a Injection>,
    asked: BTreeSet<SlipId>,
}

struct Draft<'a> {
    scene: &'a PlanInput<'a>,
    settings: &'a StableSettings,
    ledger: Ledger,
    /// Whether this is the first turn: nothing is cached, so every place is free.
    first: bool,
    /// How many of the window's messages are left out.
    skip: usize,
    /// The position of each sent message in the window.
    at: FxHashMap<MessageId, usize>,
    /// The first position at which the prompt differs from the last one for certain.
    broken: Option<usize>,
    evicted: Vec<Evicted>,
}

impl<'a> Draft<'a> {
    fn new(scene: &'a PlanInput<'a>, before: &Ledger, settings: &'a StableSettings) -> Self {
        let mut ledger = before.clone();
        let skip = cut::ahead(scene, before, settings);
        let start = scene.window.first().copied();
        // Where the story that is sent begins, then and now.
        let (began, begins) = (before.cut.or(before.start), scene.window.get(skip).copied());
        let broken =
            if before.head == Some(scene.head) { (began != begins).then_some(1) } else { Some(0) };
        ledger.head = Some(scene.head);
        ledger.start = start.or(before.start);
        let was_cut = skip > 0 || before.cut.is_some();
        ledger.cut = begins.filter(|_| was_cut).or(before.cut);
        let at = scene.window.iter().enumerate().skip(skip).map(|(at, id)| (*id, at)).collect();
        let first = before.head.is_none();
        Self { scene, settings, ledger, first, skip, at, broken, evicted: Vec::new() }
    }

    fn sort<'text>(
        &self,
        admitted: &[&'text Injection],
        volatile: &dyn Fn(&Injection) -> bool,
    ) -> Sorted<'text> {
        let mut sorted = Sorted {
            marked: Vec::new(),
            lasting: Vec::new(),
            tail: Vec::new(),
            asked: BTreeSet::new(),
        };
        let mut occurrences: FxHashMap<SlipId, u64> = FxHashMap::default();
        for &injection in admitted {
            // With no message there is nothing to hold a text inside the chat.
            let adrift =
                self.scene.window.is_empty() && matches!(injection.place, Place::AtDepth(_));
            if is_marked(&injection.place, self.scene.marked) {
                sorted.marked.push(injection);
            } else if adrift || volatile(injection) || self.is_restless(&injection.source) {
                sorted.tail.push(injection);
            } else {
                let first = slip_id(injection, 0);
                let occurrence = occurrences.entry(first).or_default();
                let id = slip_id(injection, *occurrence);
                *occurrence += 1;
                sorted.lasting.push((id, injection));
                sorted.asked.insert(id);
            }
        }
        sorted
    }

    fn is_restless(&self, source: &Provenance) -> bool {
        let rewritten = self.ledger.rewritten.get(&source_key(source));
        rewritten.is_some_and(|times| *times >= self.settings.rewrites)
    }

    /// The position of a slip, counted from the head; `None` if its message is gone.
    fn position(&self, slip: &Slip) -> Option<usize> {
        match slip.anchor {
            Anchor::Head => Some(0),
            Anchor::Before(id) => self.at.get(&id).map(|at| at + 1),
        }
    }

    fn evict(&mut self, ids: Vec<SlipId>, why: Eviction) {
        for id in ids {
            if let Some(slip) = self.ledger.remove(id) {
                let (source, tokens) = (slip.injection.source.clone(), slip.injection.tokens);
                self.evicted.push(Evicted { source, tokens, why });
            }
        }
    }

    /// An old text beside a new one of the same source would contradict it.
    fn drop_rewritten(&mut self, admitted: &[&Injection], sorted: &Sorted<'_>) {
        let sources: FxHashSet<&Provenance> = admitted.iter().map(|one| &one.source).collect();
        let (mut ids, mut keys) = (Vec::new(), BTreeSet::new());
        for (id, slip) in &self.ledger.slips {
            let source = &slip.injection.source;
            if sources.contains(source) && !sorted.asked.contains(id) {
                ids.push(*id);
                keys.insert(source_key(source));
                let position = self.position(slip);
                self.broken = self.broken.into_iter().chain(position).min();
            }
        }
        for key in keys {
            let times = self.ledger.rewritten.entry(key).or_default();
            *times = times.saturating_add(1);
        }
        self.evict(ids, Eviction::Rewritten);
    }

    /// What is not asked for stays for the sake of the cache, but not against its source.
    fn drop_withdrawn(&mut self, sorted: &Sorted<'_>, sources: &dyn SourceLookup) {
        let mut ids = Vec::new();
        for (id, slip) in self.ledger.slips.iter().filter(|(id, _)| !sorted.asked.contains(*id)) {
            let says = sources.says(&slip.injection.source);
            if says.is_none() || says != slip.said {
                ids.push(*id);
                self.broken = self.broken.into_iter().chain(self.position(slip)).min();
            }
        }
        self.evict(ids, Eviction::Withdrawn);
    }

    /// Texts whose message left the window or the story. Those that are still asked for get a new
    /// place. That costs nothing: the prompt changed there anyway.
    fn drop_unanchored(&mut self, sorted: &Sorted<'_>) {
        let gone = self.ledger.slips.iter().filter(|(_, slip)| self.position(slip).is_none());
        let (asked, idle): (Vec<SlipId>, Vec<SlipId>) =
            gone.map(|(id, _)| *id).partition(|id| sorted.asked.contains(id));
        for id in asked {
            self.ledger.remove(id);
        }
        self.evict(idle, Eviction::Unanchored);
    }

    fn mark_idle(&mut self, sorted: &Sorted<'_>) {
        for id in self.ledger.slips.keys() {
            if sorted.asked.contains(id) {
                self.ledger.idle.remove(id);
            } else {
                self.ledger.idle.entry(*id).or_insert(self.scene.length);
            }
        }
    }

    /// Lets idle texts go: where the prompt is broken anyway, when there is too much waste,
    /// and when the budget needs their room.
    fn cut(&mut self, asked: u64, limit: Tokens) {
        if let Some(broken) = self.broken {
            let free = |slip: &Slip| self.position(slip).is_some_and(|at| at >= broken);
            let ids = self.waste().filter(|(_, slip)| free(slip)).map(|(id, _)| id).collect();
            self.evict(ids, Eviction::CutOff(CutOff::Broken));
        }
        let limit = u64::from(limit.0);
        let waste: u64 = self.waste().map(|(_, slip)| u64::from(slip.injection.tokens.0)).sum();
        let over = asked + self.lingering() > limit;
        if over || waste * 100 > limit * u64::from(self.settings.waste_percent) {
            let why = if over { CutOff::Budget } else { CutOff::Waste };
            let ids = self.waste().map(|(id, _)| id).collect();
            self.evict(ids, Eviction::CutOff(why));
        }
        if asked + self.lingering() > limit {
            let ids = self.ledger.idle.keys().copied().collect();
            self.evict(ids, Eviction::CutOff(CutOff::Budget));
        }
    }

    /// Texts that have been idle for too long.
    fn waste(&self) -> impl Iterator<Item = (SlipId, &Slip)> {
        let Self { scene, settings, ledger, .. } = self;
        ledger.idle.iter().filter_map(|(id, since)| {
            let idle = scene.length.0.saturating_sub(since.0);
            let slip = ledger.slips.get(id)?;
            (idle >= settings.linger.0).then_some((*id, slip.as_ref()))
        })
    }

    fn lingering(&self) -> u64 {
        let idle = self.ledger.idle.keys().filter_map(|id| self.ledger.slips.get(id));
        idle.map(|slip| u64::from(slip.injection.tokens.0)).sum()
    }

    fn place_new(&mut self, sorted: &Sorted<'_>, sources: &dyn SourceLookup) {
        let mut order = self.ledger.next_order();
        for (id, injection) in &sorted.lasting {
            if self.ledger.slips.contains_key(id) {
                continue;
            }
            let anchor = self.anchor(&injection.place);
            let said = sources.says(&injection.source);
            let slip = Slip { anchor, order, injection: (*injection).clone(), said };
            self.ledger.slips.insert(*id, Arc::new(slip));
            order = order.saturating_add(1);
        }
    }

    /// Where a new text goes: on the first turn where its author wants it, later before the
    /// newest message.
    fn anchor(&self, place: &Place) -> Anchor {
        let window = self.scene.window;
        let Some(newest) = window.last() else { return Anchor::Head };
        if !self.first {
            return Anchor::Before(*newest);
        }
        place.depth().map_or(Anchor::Head, |depth| {
            let at = window.len().saturating_sub((depth.0 as usize).max(1));
            Anchor::Before(window[at])
        })
    }

    fn finish(self, sorted: &Sorted<'_>, left_out: Vec<Injection>, before: &Ledger) -> Planned {
        let tokens: FxHashMap<SlipId, Tokens> =
            sorted.lasting.iter().map(|(id, one)| (*id, one.tokens)).collect();
        let mut slips: Vec<(usize, u32, Laid)> = Vec::new();
        for (id, slip) in &self.ledger.slips {
            let Some(position) = self.position(slip) else { continue };
            let (mut injection, now) = (slip.injection.clone(), tokens.get(id));
            injection.tokens = now.copied().unwrap_or(injection.tokens);
            let zone = if position == 0 { Zone::Head } else { Zone::Ledger };
            if zone == Zone::Ledger {
                injection.place = self.depth_of(position - 1);
            }
            let idle_since = self.ledger.idle.get(id).copied();
            slips.push((position, slip.order, Laid { injection, zone, idle_since }));
        }
        slips.sort_by_key(|(position, order, _)| (*position, *order));
        let marked = sorted.marked.iter().map(|one| Laid {
            injection: (*one).clone(),
            zone: Zone::Marked,
            idle_since: None,
        });
        let mut laid: Vec<Laid> = marked.collect();
        laid.extend(slips.into_iter().map(|(_, _, laid)| laid));
        laid.extend(sorted.tail.iter().map(|one| self.in_tail(one)));
        let delta = LedgerDelta::between(before, &self.ledger);
        Planned { laid, left_out, evicted: self.evicted, skip: self.skip, delta }
    }

    /// The depth of a text before the message of the window.
    fn depth_of(&self, at: usize) -> Place {
        let depth = self.scene.window.len() - at;
        Place::AtDepth(Depth(u32::try_from(depth).unwrap_or(u32::MAX)))
    }

    fn in_tail(&self, injection: &Injection) -> Laid {
        let tail = self.settings.tail_depth;
        let depth = injection.place.depth().map_or(tail, |depth| depth.min(tail));
        let injection = Injection { place: Place::AtDepth(depth), ..injection.clone() };
        Laid { injection, zone: Zone::Tail, idle_since: None }
    }
}
