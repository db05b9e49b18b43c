//! Whether the weights carry over to conversations they were not chosen on.
//!
//! For each conversation in turn, the best of the weights near the defaults is chosen on all
//! the others and measured on the one that was left out. If the defaults were fitted, they
//! would do better on what they were seen with than a choice made without it does.

use loreloom_memory::recall::Weights;
use loreloom_ports::Vector;
use serde::Serialize;

use super::{Conversations, Figures};

/// A conversation that was left out.
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
    ("no second hop by words", |weights| weights.hop = 0.0),
    ("twice the second hop by words", |weights| weights.hop *= 2.0),
    ("no second hop by meaning", |weights| weights.hop_meaning = 0.0),
    ("twice the second hop by meaning", |weights| weights.hop_meaning *= 2.0),
    ("half the meaning", |weights| weights.meaning /= 2.0),
    ("half as much again of the meaning", |weights| weights.meaning *= 1.5),
    ("half the related words", |weights| weights.related /= 2.0),
    ("half as much again of the related words", |weights| weights.related *= 1.5),
    ("no neighbours", |weights| {
        weights.before.clear();
        weights.after.clear();
    }),
    ("half as much again of the neighbours", |weights| {
        weights.before.iter_mut().chain(&mut weights.after).for_each(|weight| *weight *= 1.5);
    }),
    ("no time", |weights| weights.time = 0.0),
    ("asking is no fault", |weights| weights.asking = 0.0),
];

/// Leaves out each conversation in turn.
pub fn left_out(
    conversations: &Conversations,
    embed: Option<&dyn Fn(&str) -> Vector>,
) -> Vec<LeftOut> {
    let changed = |change: &Change| {
        let mut weights = Weights::default();
        change.1(&mut weights);
        let of = |at| conversations.measure(&weights, embed, |conversation, _| conversation == at);
        (change.0, (0..conversations.len()).map(of).collect::<Vec<Figures>>())
    };
    let tried: Vec<(&'static str, Vec<Figures>)> = CHANGES.iter().map(changed).collect();
    let Some((_, defaults)) = tried.first() else { return Vec::new() };
    let left = |at: usize| {
        let elsewhere = |figures: &[Figures]| -> f64 {
            figures
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != at)
                .map(|(_, one)| worth(one))
                .sum()
        };
        let best = tried.iter().max_by(|a, b| elsewhere(&a.1).total_cmp(&elsewhere(&b.1)))?;
        Some(LeftOut {
            conversation: at,
            chosen: best.0,
            chosen_figures: *best.1.get(at)?,
            default_figures: *defaults.get(at)?,
        })
    };
    (0..conversations.len()).filter_map(left).collect()
}

/// What is looked for: both figures that recall is measured by, on one scale.
fn worth(figures: &Figures) -> f64 {
    figures.r10 + 100.0 * figures.mrr
}
