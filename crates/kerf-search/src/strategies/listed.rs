//! The points of a listed space: finding them, their neighbours, and those that were not run yet.
use crate::problem::{Assignment, Problem};
use crate::rng::Rng;

/// Draws of something seen after which what is left is counted through.
const TRIES: usize = 64;

/// Points by number.
pub struct Listed<'p> {
    points: &'p [Assignment],
    /// Levels of each variable.
    levels: Vec<usize>,
    /// Numbers of points in the order of their levels.
    sorted: Vec<u32>,
}

impl<'p> Listed<'p> {
    /// Of a problem's points.
    pub fn new(problem: &Problem, points: &'p [Assignment]) -> Listed<'p> {
        let mut sorted: Vec<u32> = (0..points.len() as u32).collect();
        sorted.sort_by(|x, y| points[*x as usize].cmp(&points[*y as usize]));
        Listed {
            points,
            levels: problem.variables.iter().map(|v| v.levels.len()).collect(),
            sorted,
        }
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.points.len()
    }
    /// One by number.
    pub fn at(&self, i: usize) -> &'p Assignment {
        &self.points[i]
    }
    /// The number of an assignment, if it exists.
    pub fn find(&self, a: &[u8]) -> Option<usize> {
        let found = self
            .sorted
            .binary_search_by(|i| self.points[*i as usize].as_slice().cmp(a));
        found.ok().map(|at| self.sorted[at] as usize)
    }
    /// Adds all points that differ from one in one variable.
    pub fn neighbours(&self, of: usize, out: &mut Vec<usize>) {
        let mut a = self.points[of].clone();
        for (d, n) in self.levels.iter().enumerate() {
            let own = a[d];
            for l in (0..*n as u8).filter(|l| *l != own) {
                a[d] = l;
                out.extend(self.find(&a));
            }
            a[d] = own;
        }
    }
    /// One at random that was not seen; none if all were.
    pub fn unseen(&self, seen: &[bool], rng: &mut Rng) -> Option<usize> {
        for _ in 0..TRIES {
            let i = rng.below(self.len());
            if seen.get(i) == Some(&false) {
                return Some(i);
            }
        }
        let left: Vec<usize> = (0..self.len()).filter(|i| !seen[*i]).collect();
        rng.pick(&left).copied()
    }
}
