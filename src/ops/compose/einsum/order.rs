//! In which order operands are multiplied: every way is tried for a few of them, the cheapest next pair is taken for many.

use super::equation::{Equation, Label};

/// The most operands for which every order is looked at.
const MOST_EXACT: usize = 8;

/// What products of operands cost.
pub(super) struct Cost<'a> {
    equation: &'a Equation,
    operands: Vec<Vec<Label>>,
}

/// The most operands of one equation.
pub(super) const MOST: usize = 60;

/// A set of operands, one bit each.
type Set = usize;

impl<'a> Cost<'a> {
    pub(super) fn new(equation: &'a Equation, operands: Vec<Vec<Label>>) -> Cost<'a> {
        Cost { equation, operands }
    }

    /// Pairs to multiply: each takes two operands out of the list and puts their product at its end.
    pub(super) fn order(&self) -> Vec<(usize, usize)> {
        let pairs = if self.operands.len() <= MOST_EXACT { self.cheapest() } else { self.greedy() };
        let mut list: Vec<Set> = (0..self.operands.len()).map(|k| 1 << k).collect();
        let mut order = Vec::new();
        for (left, right) in pairs {
            let at = |set: Set| list.iter().position(|&other| other == set).expect("a set that was made");
            let (left_at, right_at) = (at(left), at(right));
            order.push((left_at, right_at));
            list.retain(|&other| other != left && other != right);
            list.push(left | right);
        }
        order
    }

    /// The labels that are left when a set of operands has become one.
    fn left_of(&self, set: Set) -> Vec<Label> {
        let inside = |k: usize| set & (1 << k) != 0;
        let mut labels: Vec<Label> = Vec::new();
        for (_, own) in self.operands.iter().enumerate().filter(|(k, _)| inside(*k)) {
            labels.extend(own.iter().filter(|label| !labels.contains(label)).copied().collect::<Vec<_>>());
        }
        let needed = |label: &Label| {
            self.equation.output.contains(label)
                || self.operands.iter().enumerate().any(|(k, own)| !inside(k) && own.contains(label))
        };
        let single = set.count_ones() == 1;
        labels.retain(|label| single || needed(label));
        labels
    }

    fn elements(&self, labels: &[Label]) -> f64 {
        labels.iter().map(|&label| self.equation.size(label) as f64).product()
    }

    /// The multiplications of one product.
    fn of(&self, left: Set, right: Set) -> f64 {
        let mut labels = self.left_of(left);
        let more = self.left_of(right);
        labels.extend(more.iter().filter(|label| !labels.contains(label)).copied().collect::<Vec<_>>());
        self.elements(&labels)
    }

    /// The order with the fewest multiplications, by sets of operands from small to large.
    fn cheapest(&self) -> Vec<(Set, Set)> {
        let count = self.operands.len();
        let mut best: Vec<Option<(f64, Set)>> = vec![None; 1 << count];
        for set in 1usize..1 << count {
            if set.count_ones() == 1 {
                best[set] = Some((0.0, 0));
                continue;
            }
            // Every way to part the set in two; the lowest operand is always on the left.
            let rest = set & (set - 1);
            let mut right = rest;
            while right > 0 {
                let left = set & !right;
                let known = |part: Set| best[part].map_or(f64::INFINITY, |(cost, _)| cost);
                let cost = known(left) + known(right) + self.of(left, right);
                if best[set].is_none_or(|(least, _)| cost < least) {
                    best[set] = Some((cost, right));
                }
                right = (right - 1) & rest;
            }
        }
        let mut pairs = Vec::new();
        let mut open = vec![(1usize << count) - 1];
        while let Some(set) = open.pop() {
            if set.count_ones() < 2 {
                continue;
            }
            let right = best[set].expect("every set was looked at").1;
            pairs.push((set & !right, right));
            open.extend([set & !right, right]);
        }
        // Parts before wholes.
        pairs.sort_by_key(|(left, right)| (left | right).count_ones());
        pairs
    }

    /// Again and again the pair whose product adds the fewest elements to what is there.
    fn greedy(&self) -> Vec<(Set, Set)> {
        let mut list: Vec<Set> = (0..self.operands.len()).map(|k| 1 << k).collect();
        let mut pairs = Vec::new();
        while list.len() > 1 {
            let size = |set: Set| self.elements(&self.left_of(set));
            let mut least: Option<(f64, usize, usize)> = None;
            for a in 0..list.len() {
                for b in a + 1..list.len() {
                    let grown = size(list[a] | list[b]) - size(list[a]) - size(list[b]);
                    if least.is_none_or(|(best, ..)| grown < best) {
                        least = Some((grown, a, b));
                    }
                }
            }
            let (_, a, b) = least.expect("at least two are left");
            let (right, left) = (list.remove(b), list.remove(a));
            pairs.push((left, right));
            list.push(left | right);
        }
        pairs
    }
}
