//! The launch space: parameters, the values they may take, and which combinations are allowed.

use std::collections::{BTreeMap, HashMap};

use crate::expr::{Expr, ExprError};
use crate::number::Number;

/// How much evaluation a search for a combination that satisfies the constraints may cost, in
/// operations of compiled expressions.
const SEARCH: usize = 20_000_000;

/// Named parameters of the launches and the values that may be tried.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaunchSpace {
    /// Each parameter with its values, in the order of the file.
    pub params: Vec<(String, Vec<i64>)>,
    /// What a combination has to satisfy, over parameters and sizes.
    pub constraints: Vec<Expr>,
    /// Values the file sets as default; parameters it leaves out take their own, or the middle of their list.
    pub default: Option<BTreeMap<String, i64>>,
    /// Values that the source, or a flag, defines macros as, where they are in the lists.
    pub own: BTreeMap<String, i64>,
    /// Parameters that are macros of the source, where nothing else says so.
    pub macros: Vec<String>,
    /// The sizes constraints may mention.
    pub(crate) sizes: HashMap<String, i64>,
}

impl LaunchSpace {
    /// The combination `kerf run` uses.
    ///
    /// It is the file's default, completed by what the source defines macros as and by the middle value of
    /// each other list (the upper one of two middles). If the file gives no default and these values break a
    /// constraint, it is the allowed combination nearest to them, by positions in the lists.
    pub fn default_params(&self) -> BTreeMap<String, i64> {
        let start: BTreeMap<String, i64> = self
            .params
            .iter()
            .filter_map(|(name, values)| {
                let chosen = self.default.as_ref().and_then(|d| d.get(name));
                let own = chosen.or_else(|| self.own.get(name));
                let value = own.or_else(|| values.get(values.len() / 2))?;
                Some((name.clone(), *value))
            })
            .collect();
        if self.default.is_some() || self.broken_constraint(&start).is_none() {
            return start;
        }
        let nearest = self
            .search()
            .take(self.patience())
            .flatten()
            .min_by_key(|positions| self.distance(&start, positions));
        match nearest {
            Some(positions) => self.at(&positions),
            None => start,
        }
    }

    /// All combinations that satisfy the constraints, the last parameter changing fastest. A
    /// constraint that cannot be evaluated (a division by zero, say) counts as broken.
    pub fn configurations(&self) -> impl Iterator<Item = BTreeMap<String, i64>> + '_ {
        self.search().flatten().map(|positions| self.at(&positions))
    }

    /// The first constraint that a combination breaks.
    pub fn broken_constraint(&self, params: &BTreeMap<String, i64>) -> Option<&Expr> {
        let lookup = |name: &str| params.get(name).copied();
        self.constraints
            .iter()
            .find(|c| !self.holds(c, lookup).is_ok_and(|v| v))
    }

    /// Whether there is any allowed combination; `None` if a long search found none but did not
    /// see them all.
    pub(crate) fn is_satisfiable(&self) -> Option<bool> {
        let mut search = self.search();
        for _ in 0..self.patience() {
            match search.next() {
                Some(Some(_)) => return Some(true),
                Some(None) => {}
                None => return Some(false),
            }
        }
        None
    }

    /// How many steps a bounded search takes.
    fn patience(&self) -> usize {
        let cost: usize = self.constraints.iter().map(Expr::cost).sum();
        (SEARCH / cost.max(1)).clamp(16, 1_000_000)
    }

    fn holds(
        &self,
        constraint: &Expr,
        param: impl Fn(&str) -> Option<i64>,
    ) -> Result<bool, ExprError> {
        let lookup = |name: &str| {
            let value = param(name).or_else(|| self.sizes.get(name).copied());
            value.map(Number::from)
        };
        constraint.eval(lookup).map(Number::is_true)
    }

    fn at(&self, positions: &[usize]) -> BTreeMap<String, i64> {
        self.params
            .iter()
            .zip(positions)
            .filter_map(|((name, values), &p)| Some((name.clone(), *values.get(p)?)))
            .collect()
    }

    /// How far positions in the lists are from some values.
    fn distance(&self, from: &BTreeMap<String, i64>, positions: &[usize]) -> usize {
        self.params
            .iter()
            .zip(positions)
            .map(|((name, values), &p)| {
                let start = values.iter().position(|v| from.get(name) == Some(v));
                p.abs_diff(start.unwrap_or(values.len() / 2))
            })
            .sum()
    }

    /// Constraints by the number of leading parameters that decide them.
    fn schedule(&self) -> Vec<Vec<&Expr>> {
        let index: HashMap<&str, usize> = self
            .params
            .iter()
            .enumerate()
            .map(|(i, (name, _))| (name.as_str(), i + 1))
            .collect();
        let mut levels = vec![Vec::new(); self.params.len() + 1];
        for constraint in &self.constraints {
            let names = constraint.names().iter();
            let last = names.filter_map(|n| index.get(n.name.as_str())).max();
            levels[last.copied().unwrap_or(0)].push(constraint);
        }
        levels
    }

    /// Steps of a search through the positions; a step that ends at no combination is `None`.
    fn search(&self) -> Search<'_> {
        Search {
            space: self,
            levels: self.schedule(),
            positions: Vec::new(),
            index: self
                .params
                .iter()
                .enumerate()
                .map(|(i, (name, _))| (name.as_str(), i))
                .collect(),
            state: State::Enter,
        }
    }
}

/// Depth-first search with each constraint checked as soon as its parameters have values, so that
/// a space far too large to list can still be searched.
struct Search<'s> {
    space: &'s LaunchSpace,
    levels: Vec<Vec<&'s Expr>>,
    positions: Vec<usize>,
    index: HashMap<&'s str, usize>,
    state: State,
}

enum State {
    /// The positions are new and have to be checked.
    Enter,
    /// The positions have been dealt with.
    Leave,
    Done,
}

impl Search<'_> {
    fn allowed(&self) -> bool {
        let value = |name: &str| {
            let i = *self.index.get(name)?;
            let (_, values) = self.space.params.get(i)?;
            values.get(*self.positions.get(i)?).copied()
        };
        let level = self.levels.get(self.positions.len());
        level
            .into_iter()
            .flatten()
            .all(|c| self.space.holds(c, value).is_ok_and(|v| v))
    }

    fn advance(&mut self) {
        while let Some(last) = self.positions.pop() {
            let (_, values) = &self.space.params[self.positions.len()];
            if last + 1 < values.len() {
                self.positions.push(last + 1);
                self.state = State::Enter;
                return;
            }
        }
        self.state = State::Done;
    }
}

impl Iterator for Search<'_> {
    type Item = Option<Vec<usize>>;

    fn next(&mut self) -> Option<Self::Item> {
        if let State::Leave = self.state {
            self.advance();
        }
        match self.state {
            State::Done | State::Leave => None,
            State::Enter if !self.allowed() => {
                self.state = State::Leave;
                Some(None)
            }
            State::Enter if self.positions.len() == self.space.params.len() => {
                self.state = State::Leave;
                Some(Some(self.positions.clone()))
            }
            State::Enter => {
                let (_, values) = &self.space.params[self.positions.len()];
                if values.is_empty() {
                    self.state = State::Leave;
                } else {
                    self.positions.push(0);
                }
                Some(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(params: &[(&str, &[i64])], constraints: &[&str]) -> LaunchSpace {
        LaunchSpace {
            params: params
                .iter()
                .map(|(n, v)| ((*n).to_owned(), v.to_vec()))
                .collect(),
            constraints: constraints
                .iter()
                .map(|c| Expr::parse(c).unwrap())
                .collect(),
            default: None,
            own: BTreeMap::new(),
            macros: Vec::new(),
            sizes: [("n".to_owned(), 100)].into(),
        }
    }

    fn list(space: &LaunchSpace) -> Vec<Vec<i64>> {
        space
            .configurations()
            .map(|c| c.into_values().collect())
            .collect()
    }

    #[test]
    fn all_combinations_in_order() {
        let s = space(&[("bx", &[32, 64]), ("by", &[1, 2])], &[]);
        assert_eq!(list(&s), [[32, 1], [32, 2], [64, 1], [64, 2]]);
        let s = space(
            &[("bx", &[32, 64]), ("by", &[1, 2])],
            &["bx * by <= 64", "bx < n"],
        );
        assert_eq!(list(&s), [[32, 1], [32, 2], [64, 1]]);
    }

    #[test]
    fn an_empty_space_has_one_combination() {
        assert_eq!(list(&space(&[], &[])), [[0i64; 0]]);
        assert!(list(&space(&[], &["n < 0"])).is_empty());
        assert!(list(&space(&[("b", &[])], &[])).is_empty());
    }

    #[test]
    fn defaults() {
        let params: &[(&str, &[i64])] = &[("bx", &[32, 64, 128, 256]), ("by", &[1, 2, 4])];
        let values = |s: &LaunchSpace| s.default_params().into_values().collect::<Vec<_>>();
        assert_eq!(values(&space(params, &[])), [128, 2]);
        assert_eq!(values(&space(params, &["bx * by <= 128"])), [64, 2]);
        let chosen = LaunchSpace {
            default: Some([("bx".to_owned(), 32)].into()),
            ..space(params, &[])
        };
        assert_eq!(values(&chosen), [32, 2]);
        let mut written = space(params, &["bx * by <= 128"]);
        written.own = [("bx".to_owned(), 256), ("by".to_owned(), 1)].into();
        assert_eq!(values(&written), [128, 1]);
        written.constraints.clear();
        assert_eq!(values(&written), [256, 1]);
    }

    #[test]
    fn huge_spaces_are_searched_lazily() {
        let names: Vec<String> = (0..30).map(|i| format!("p{i}")).collect();
        let values: Vec<i64> = (0..20).collect();
        let params: Vec<(&str, &[i64])> = names.iter().map(|n| (n.as_str(), &values[..])).collect();
        assert_eq!(
            space(&params, &["p0 == 19"])
                .configurations()
                .take(3)
                .count(),
            3
        );
        assert_eq!(space(&params, &["p0 == 20"]).is_satisfiable(), Some(false));
        assert_eq!(space(&params, &["p29 == 19"]).is_satisfiable(), Some(true));
        assert_eq!(space(&params, &["p29 == 20"]).is_satisfiable(), None);
    }

    #[test]
    fn faulty_constraints_count_as_broken() {
        let s = space(&[("b", &[0, 2])], &["100 / b > 1"]);
        assert_eq!(list(&s), [[2]]);
    }
}
