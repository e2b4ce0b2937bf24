//! Sets of unit numbers, held as ranges: their memory does not grow with the number of units.
use std::collections::BTreeMap;
use std::ops::Range;

/// Numbers of units.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitSet {
    /// Ends by starts; ranges neither overlap nor touch.
    ranges: BTreeMap<u64, u64>,
}

impl UnitSet {
    /// Adds a range.
    pub fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        // The one before, if it reaches the new one, and all that begin within it.
        let before = self.ranges.range(..=start).next_back();
        if let Some((&s, &e)) = before.filter(|(_, e)| **e >= start) {
            start = s;
            end = end.max(e);
        }
        while let Some((&s, &e)) = self.ranges.range(start..=end).next() {
            end = end.max(e);
            self.ranges.remove(&s);
        }
        self.ranges.insert(start, end);
    }

    /// Whether a number is in it.
    pub fn contains(&self, i: u64) -> bool {
        let before = self.ranges.range(..=i).next_back();
        before.is_some_and(|(_, end)| i < *end)
    }

    /// How many of a range are in it.
    pub fn count_in(&self, range: &Range<u64>) -> u64 {
        let before = self.ranges.range(..range.start).next_back();
        let within = self.ranges.range(range.start..range.end);
        let common =
            |(s, e): (&u64, &u64)| (*e).min(range.end).saturating_sub((*s).max(range.start));
        before.into_iter().chain(within).map(common).sum()
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.ranges.iter().map(|(s, e)| e - s).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The ranges, in order.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.ranges.iter().map(|(s, e)| *s..*e)
    }

    /// The ranges below `end` that are not in it, in order.
    pub fn missing(&self, end: u64) -> Vec<Range<u64>> {
        let mut all = Vec::new();
        let mut at = 0;
        for r in self.ranges().chain(std::iter::once(end..end)) {
            if at < r.start.min(end) {
                all.push(at..r.start.min(end));
            }
            at = at.max(r.end);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// As a set of numbers, in any order, ranges overlapping or not.
    #[test]
    fn as_single_numbers() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut below = |n: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % n
        };
        for _ in 0..200 {
            let (mut set, mut plain) = (UnitSet::default(), BTreeSet::new());
            for _ in 0..below(30) {
                let start = below(100);
                let end = start + below(12);
                set.insert(start..end);
                plain.extend(start..end);
            }
            assert_eq!(set.len(), plain.len() as u64);
            assert!((0..120).all(|i| set.contains(i) == plain.contains(&i)));
            let (from, to) = (below(50), 50 + below(50));
            let inside = (from..to).filter(|i| plain.contains(i)).count();
            assert_eq!(set.count_in(&(from..to)), inside as u64);
            let missing: Vec<u64> = set.missing(90).into_iter().flatten().collect();
            let left: Vec<u64> = (0..90).filter(|i| !plain.contains(i)).collect();
            assert_eq!(missing, left);
            let ends: Vec<_> = set.ranges().collect();
            assert!(ends.windows(2).all(|w| w[0].end < w[1].start));
        }
    }
}
