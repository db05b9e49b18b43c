//! A graph as a picture: communities, and the position of each node.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Graph, communities, places};

/// How strongly two nodes are tied over all layers, either way round.
pub(super) type Strengths = BTreeMap<(usize, usize), f64>;

impl Graph {
    pub(super) fn strengths(&self) -> Strengths {
        let mut strengths = Strengths::new();
        for ((from, to, _), tie) in &self.ties {
            let often = u32::try_from(tie.weight).unwrap_or(u32::MAX);
            let strength = 1.0 + f64::from(often).max(1.0).log2();
            *strengths.entry((*from.min(to), *from.max(to))).or_default() += strength;
        }
        strengths
    }

    /// Names each node's community after the best tied of its members, the first of equals.
    pub(super) fn name_communities(&mut self, strengths: &Strengths) {
        let ties: Vec<communities::Tie> =
            strengths.iter().map(|((from, to), strength)| (*from, *to, *strength)).collect();
        let of = communities::communities(self.nodes.len(), &ties);
        let mut best: FxHashMap<usize, usize> = FxHashMap::default();
        for (at, community) in of.iter().enumerate() {
            let first = best.entry(*community).or_insert(at);
            if self.nodes[at].degree > self.nodes[*first].degree {
                *first = at;
            }
        }
        for (at, community) in of.iter().enumerate() {
            let name = self.nodes[best[community]].id.clone();
            self.nodes[at].community = name;
        }
    }

    /// Places the nodes: by their distance from the focus, or on the map of all.
    pub(super) fn put_in_place(
        &mut self,
        shown: &[usize],
        steps: Option<&[usize]>,
        strengths: &Strengths,
    ) {
        let numbers: FxHashMap<usize, usize> =
            shown.iter().enumerate().map(|(number, at)| (*at, number)).collect();
        let ties: Vec<communities::Tie> = strengths
            .iter()
            .filter_map(|((from, to), strength)| {
                Some((*numbers.get(from)?, *numbers.get(to)?, *strength))
            })
            .collect();
        let ids: Vec<&str> = shown.iter().map(|at| self.nodes[*at].id.as_str()).collect();
        let places = if let Some(steps) = steps {
            places::around(&ids, steps, &ties)
        } else {
            let of = shown.iter().map(|at| self.nodes[*at].community.as_str());
            places::map(&ids, &of.collect::<Vec<_>>(), &ties)
        };
        for (at, place) in shown.iter().zip(places) {
            (self.nodes[*at].x, self.nodes[*at].y) = (whole(place.x), whole(place.y));
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "pictures are far smaller than 2^31")]
fn whole(number: f64) -> i32 {
    number.round() as i32
}
