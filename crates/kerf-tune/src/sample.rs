//! Assignments that show a program from many sides: what predictions are compared with measurements on.
//!
//! All groups at each level, single groups, all but one, the first along the data flow, and random ones
//! of every density.
use kerf_search::Assignment;
use kerf_search::rng::Rng;
use std::collections::BTreeSet;

/// Parts of the groups that random assignments lower, in turn.
const DENSITIES: [f64; 5] = [0.5, 0.25, 0.75, 0.1, 0.9];

/// Up to `count` different assignments over groups with so many levels each, the identity first.
pub fn sample(levels: &[u8], count: usize, seed: u64) -> Vec<Assignment> {
    let n = levels.len();
    let most = levels.iter().copied().max().unwrap_or(1).saturating_sub(1);
    let capped = |i: usize, l: u8| l.min(levels[i].saturating_sub(1));
    let uniform = |l: u8| -> Assignment { (0..n).map(|i| capped(i, l)).collect() };
    let mut rng = Rng::new(seed);
    let mut seen: BTreeSet<Assignment> = BTreeSet::new();
    let mut out: Vec<Assignment> = Vec::new();
    let mut put = |a: Assignment| {
        if out.len() < count && seen.insert(a.clone()) {
            out.push(a);
        }
        out.len()
    };
    (0..=most).for_each(|l| _ = put(uniform(l)));
    let mut order: Vec<usize> = (0..n).collect();
    rng.shuffle(&mut order);
    // A quarter of each kind, random ones for the rest.
    for i in order.iter().take(count.div_ceil(4)) {
        let l = 1 + rng.below(usize::from(most.max(1))) as u8;
        let mut alone = uniform(0);
        alone[*i] = capped(*i, l);
        put(alone);
        let mut without = uniform(l);
        without[*i] = 0;
        put(without);
    }
    let parts = count.div_ceil(8).max(2);
    for k in 1..parts {
        let l = 1 + rng.below(usize::from(most.max(1))) as u8;
        let first = n * k / parts;
        put((0..n)
            .map(|i| if i < first { capped(i, l) } else { 0 })
            .collect());
    }
    // Small spaces have fewer than were asked for.
    for k in 0..50 * count {
        let density = DENSITIES[k % DENSITIES.len()];
        let one = |i: usize| match rng.chance(density) && levels[i] > 1 {
            true => 1 + rng.below(usize::from(levels[i]) - 1) as u8,
            false => 0,
        };
        if put((0..n).map(one).collect()) == count {
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_distinct_repeatable_and_within_the_levels() {
        let levels = [2, 3, 3, 2, 1, 3, 2, 2];
        let all = sample(&levels, 40, 7);
        assert_eq!(all.len(), 40);
        assert_eq!(all, sample(&levels, 40, 7));
        assert_ne!(all, sample(&levels, 40, 8));
        assert_eq!(all[0], vec![0; 8]);
        assert!(
            all.iter()
                .all(|a| a.iter().zip(levels).all(|(l, n)| *l < n))
        );
        let distinct: BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), 40);
    }

    #[test]
    fn a_small_space_is_given_whole() {
        assert_eq!(sample(&[2, 2], 40, 1).len(), 4);
        assert_eq!(sample(&[1], 40, 1), [vec![0]]);
    }
}
