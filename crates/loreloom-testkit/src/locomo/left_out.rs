//! Whether the weights carry over to conversations they were not chosen on.
//!
//! For each conversation in turn, the best of the weights near the defaults is chosen on all
//! the others and measured on the one that was left out. If the defaults were fitted, they
//! would do better on what they were seen with than a choice made without it does.

use loreloom_memory::recall::{NearWeights, StoryVectors, Weights};

use serde::Serialize;

use super::{Conversations, Figures};

/// A conversation, or a set of them, that was left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// Which one, from 0.
    pub conversation: usize,
    /// What differs from the defaults in the weights that were best on the others.
    pub chosen: &'static str,
    /// What those weights give here.
    pub chosen_figures: Figures,
    /// What the defaults give here.
    pub default_figures: Figures,
}

type Change = (&'static str, fn(&mut Weights));

/// Coarse steps from the defaults, one weight at a time.
const CHANGES: &[Change] = &[
    ("nothing", |_| {}),
    ("half the speaker", |weights| weights.speaker /= 2.0),
    ("twice the speaker", |weights| weights.speaker *= 2.0),
    ("no second hop", |weights| weights.hop = 0.0),
    ("twice the second hop", |weights| weights.hop *= 2.0),
    ("half the meaning", |weights| weights.meaning /= 2.0),
    ("half as much again of the meaning", |weights| weights.meaning *= 1.5),
    ("half the related words", |weights| weights.related /= 2.0),
    ("half as much again of the related words", |weights| weights.related *= 1.5),
    ("no neighbours", |weights| {
        weights.near = NearWeights::default();
        weights.near_long = NearWeights::default();
    }),
    ("half as much again of the neighbours", |weights| {
        for near in [&mut weights.near, &mut weights.near_long] {
            near.before.iter_mut().chain(&mut near.after).for_each(|weight| *weight *= 1.5);
        }
    }),
    ("no time", |weights| weights.time = 0.0),
    ("asking is no fault", |weights| weights.asking = 0.0),
];

/// Leaves out each conversation in turn.
pub fn left_out(conversations: &Conversations, embed: Option<&dyn StoryVectors>) -> Vec<LeftOut> {
    each_left_out(conversations.len(), |weights, at| {
        conversations.measure(weights, embed, |conversation, _| conversation == at)
    })
}

/// Leaves out each set of conversations in turn: weights are chosen on the other sets.
pub fn sets_left_out(sets: &[Conversations], embed: Option<&dyn StoryVectors>) -> Vec<LeftOut> {
    each_left_out(sets.len(), |weights, at| sets[at].measure(weights, embed, |_, _| true))
}

fn each_left_out(count: usize, measure: impl Fn(&Weights, usize) -> Figures) -> Vec<LeftOut> {
    let changed = |change: &Change| {
        let mut weights = Weights::default();
        change.1(&mut weights);
        (change.0, (0..count).map(|at| measure(&weights, at)).collect::<Vec<Figures>>())
    };
    let tried: Vec<(&'static str, Vec<Figures>)> = CHANGES.iter().map(changed).collect();
    let Some((_, defaults)) = tried.first() else { return Vec::new() };
    let left = |at: usize| {
        let elsewhere = |figures: &[Figures]| -> f64 {
            let others = figures.iter().enumerate().filter(|(other, _)| *other != at);
            others.map(|(_, one)| worth(one)).sum()
        };
        let best = tried.iter().max_by(|a, b| elsewhere(&a.1).total_cmp(&elsewhere(&b.1)))?;
        Some(LeftOut {
            conversation: at,
            chosen: best.0,
            chosen_figures: *best.1.get(at)?,
            default_figures: *defaults.get(at)?,
        })
    };
    (0..count).filter_map(left).collect()
}

/// What is looked for: both figures that recall is measured by, on one scale.
fn worth(figures: &Figures) -> f64 {
    figures.r10 + 100.0 * figures.mrr
}
