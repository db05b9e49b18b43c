//! Which nodes of a graph belong together.
//!
//! Modularity, as in the method of Louvain: each node moves to the community of its neighbours
//! that gains most by it, then communities are taken for nodes and moved in turn. Nothing is
//! rolled and ties go to who was there first, so that the same graph has the same communities
//! and one node more leaves most of them as they are. The work is bounded by passes over all
//! ties.

use rustc_hash::FxHashMap;

/// Passes over all nodes at one level.
const PASSES: usize = 12;
/// Levels of communities of communities.
const LEVELS: usize = 6;
/// Gains below this are noise of the arithmetic.
const LEAST: f64 = 1e-9;

/// Two nodes, and how strongly they are tied.
pub(super) type Tie = (usize, usize, f64);

/// The community of each node, by the number of its first member.
pub(super) fn communities(count: usize, ties: &[Tie]) -> Vec<usize> {
    let mut net = Net::of(count, ties);
    let mut of: Vec<usize> = (0..count).collect();
    for _ in 0..LEVELS {
        let (labels, kinds) = numbered(&net.moved());
        if kinds == net.near.len() {
            break;
        }
        for one in &mut of {
            *one = labels[*one];
        }
        net = net.joined(&labels, kinds);
    }
    let mut first: FxHashMap<usize, usize> = FxHashMap::default();
    let members = of.iter().enumerate();
    members.map(|(at, label)| *first.entry(*label).or_insert(at)).collect()
}

/// Labels as numbers from 0 on, in the order of first use, and how many there are.
fn numbered(labels: &[usize]) -> (Vec<usize>, usize) {
    let mut numbers: FxHashMap<usize, usize> = FxHashMap::default();
    let mut number = |label: &usize| {
        let next = numbers.len();
        *numbers.entry(*label).or_insert(next)
    };
    let labels: Vec<usize> = labels.iter().map(&mut number).collect();
    (labels, numbers.len())
}

/// A graph of nodes or communities.
struct Net {
    /// The neighbours of each.
    near: Vec<Vec<(usize, f64)>>,
    /// What ties each to itself, from both ends.
    own: Vec<f64>,
}

impl Net {
    fn of(count: usize, ties: &[Tie]) -> Self {
        let mut net = Self { near: vec![Vec::new(); count], own: vec![0.0; count] };
        for &(from, to, weight) in ties {
            net.near[from].push((to, weight));
            net.near[to].push((from, weight));
        }
        net
    }

    fn degree(&self, at: usize) -> f64 {
        self.own[at] + self.near[at].iter().map(|(_, weight)| weight).sum::<f64>()
    }

    /// Where each node goes.
    fn moved(&self) -> Vec<usize> {
        let degrees: Vec<f64> = (0..self.near.len()).map(|at| self.degree(at)).collect();
        let all: f64 = degrees.iter().sum();
        let mut labels: Vec<usize> = (0..self.near.len()).collect();
        let mut totals = degrees.clone();
        let mut towards: FxHashMap<usize, f64> = FxHashMap::default();
        for _ in 0..PASSES {
            let mut is_still = true;
            for at in 0..labels.len() {
                towards.clear();
                for &(other, weight) in &self.near[at] {
                    *towards.entry(labels[other]).or_default() += weight;
                }
                let here = labels[at];
                totals[here] -= degrees[at];
                let gain = |label: usize| {
                    let tied = towards.get(&label).copied().unwrap_or_default();
                    tied - totals[label] * degrees[at] / all
                };
                let (mut best, mut most) = (here, gain(here));
                let mut open: Vec<usize> = towards.keys().copied().collect();
                open.sort_unstable();
                for label in open {
                    let gain = gain(label);
                    if gain > most + LEAST {
                        (best, most) = (label, gain);
                    }
                }
                totals[best] += degrees[at];
                is_still &= best == here;
                labels[at] = best;
            }
            if is_still {
                break;
            }
        }
        labels
    }

    /// The graph of communities.
    fn joined(&self, labels: &[usize], kinds: usize) -> Self {
        let mut net = Self { near: vec![Vec::new(); kinds], own: vec![0.0; kinds] };
        let mut between: FxHashMap<(usize, usize), f64> = FxHashMap::default();
        for (at, near) in self.near.iter().enumerate() {
            net.own[labels[at]] += self.own[at];
            for &(other, weight) in near {
                if labels[at] == labels[other] {
                    net.own[labels[at]] += weight;
                } else {
                    *between.entry((labels[at], labels[other])).or_default() += weight;
                }
            }
        }
        let mut between: Vec<((usize, usize), f64)> = between.into_iter().collect();
        between.sort_unstable_by_key(|(pair, _)| *pair);
        for ((from, to), weight) in between {
            net.near[from].push((to, weight));
        }
        net
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of these nodes are tied to each other.
    fn clique(nodes: std::ops::Range<usize>) -> Vec<Tie> {
        let pairs = nodes.clone().flat_map(|one| (one + 1..nodes.end).map(move |two| (one, two)));
        pairs.map(|(one, two)| (one, two, 1.0)).collect()
    }

    #[test]
    fn what_is_tied_among_itself_is_a_community() {
        for (name, count, ties, expected) in [
            ("nothing", 0, vec![], vec![]),
            ("loose", 3, vec![], vec![0, 1, 2]),
            ("a pair", 3, vec![(0, 2, 1.0)], vec![0, 1, 0]),
            (
                "two cliques with a bridge",
                8,
                [clique(0..4), clique(4..8), vec![(3, 4, 1.0)]].concat(),
                vec![0, 0, 0, 0, 4, 4, 4, 4],
            ),
            (
                "who has more ties there goes there",
                7,
                [clique(0..3), clique(3..6), vec![(6, 0, 1.0), (6, 3, 1.0), (6, 4, 1.0)]].concat(),
                vec![0, 0, 0, 3, 3, 3, 3],
            ),
            (
                "a ring of cliques",
                12,
                [
                    clique(0..4),
                    clique(4..8),
                    clique(8..12),
                    vec![(0, 4, 1.0), (5, 8, 1.0), (9, 1, 1.0)],
                ]
                .concat(),
                vec![0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8],
            ),
        ] {
            assert_eq!(communities(count, &ties), expected, "{name}");
        }
    }
}
