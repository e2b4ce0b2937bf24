//! Sums of products of what a kernel's indices are made of.
use std::collections::BTreeMap;

/// What a polynomial is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Symbol {
    /// A parameter of the kernel, from 0.
    Parameter(usize),
    /// An integer in a struct that is passed by value: the parameter, and its byte there.
    Member(usize, u64),
    /// Threads of a block along an axis.
    Block(usize),
    /// Blocks along an axis.
    Grid(usize),
    /// A thread's index in its block.
    Thread(usize),
    /// A block's index.
    BlockIndex(usize),
    /// A variable of a loop, by number.
    Turn(usize),
}

impl Symbol {
    /// Is it fixed by the arguments of a launch?
    pub(super) fn is_argument(&self) -> bool {
        matches!(self, Symbol::Parameter(_) | Symbol::Member(..))
    }
}

/// A sum of products; a product is a sorted list of symbols.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Polynomial(pub(super) BTreeMap<Vec<Symbol>, i128>);

/// Products of more symbols than this are given up.
pub(super) const DEGREE: usize = 6;

/// Sums of more products than this are given up: a hash of indices is no index that anybody could say.
pub(super) const TERMS: usize = 64;

impl Polynomial {
    /// A number.
    pub fn number(n: i128) -> Polynomial {
        Polynomial([(Vec::new(), n)].into_iter().filter(|t| t.1 != 0).collect())
    }
    pub(super) fn symbol(s: Symbol) -> Polynomial {
        Polynomial([(vec![s], 1)].into())
    }
    pub(super) fn plus(&self, o: &Polynomial, times: i128) -> Polynomial {
        let mut sum = self.0.clone();
        for (k, v) in &o.0 {
            let t = sum.entry(k.clone()).or_default();
            *t = t.saturating_add(v.saturating_mul(times));
        }
        sum.retain(|_, v| *v != 0);
        Polynomial(sum)
    }
    pub(super) fn times(&self, o: &Polynomial) -> Option<Polynomial> {
        let mut out: BTreeMap<Vec<Symbol>, i128> = BTreeMap::new();
        for (a, x) in &self.0 {
            for (b, y) in &o.0 {
                let mut k: Vec<Symbol> = a.iter().chain(b).copied().collect();
                k.sort_unstable();
                if k.len() > DEGREE {
                    return None;
                }
                let t = out.entry(k).or_default();
                *t = t.checked_add(x.checked_mul(*y)?)?;
            }
            if out.len() > TERMS {
                return None;
            }
        }
        out.retain(|_, v| *v != 0);
        Some(Polynomial(out))
    }
    /// Whether a symbol of this kind is in it.
    pub(super) fn has(&self, f: impl Fn(&Symbol) -> bool) -> bool {
        self.0.keys().flatten().any(f)
    }
    /// Made of parameters and numbers alone.
    pub(super) fn is_fixed(&self) -> bool {
        !self.has(|s| !s.is_argument())
    }
    /// Parameters and members of structs in it.
    pub fn arguments(&self) -> Vec<Symbol> {
        let all = self.0.keys().flatten().filter(|s| s.is_argument());
        let mut all: Vec<Symbol> = all.copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }
    /// The factor of a product of one symbol; 0 where it is not there.
    pub(super) fn factor(&self, s: Symbol) -> i128 {
        self.0.get(&vec![s]).copied().unwrap_or(0)
    }
    /// The number that is added.
    pub(super) fn factor_of_one(&self) -> i128 {
        self.0.get(&Vec::new()).copied().unwrap_or(0)
    }
    /// Parameters in it.
    pub fn parameters(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self
            .0
            .keys()
            .flatten()
            .filter_map(|s| match s {
                Symbol::Parameter(p) => Some(*p),
                _ => None,
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
    /// Parameters that make it smaller: positions, as the step of an elimination, rather than sizes.
    pub fn positions(&self) -> Vec<usize> {
        let less = self.0.iter().filter(|(_, v)| **v < 0);
        let less = Polynomial(less.map(|(k, v)| (k.clone(), *v)).collect());
        let more = self.0.iter().filter(|(_, v)| **v > 0);
        let more = Polynomial(more.map(|(k, v)| (k.clone(), *v)).collect()).parameters();
        let all = less.parameters().into_iter();
        all.filter(|p| !more.contains(p)).collect()
    }
    /// With parameters at zero.
    pub fn at_zero(&self, parameters: &[usize]) -> Polynomial {
        let zero = |s: &Symbol| matches!(s, Symbol::Parameter(p) if parameters.contains(p));
        let all = self.0.iter().filter(|(k, _)| !k.iter().any(zero));
        Polynomial(all.map(|(k, v)| (k.clone(), *v)).collect())
    }
    /// Divided by a number, each product rounded up.
    pub fn divided(&self, by: i128) -> Polynomial {
        let by = by.max(1);
        let all = self.0.iter();
        Polynomial(
            all.map(|(k, v)| (k.clone(), -v.saturating_neg().div_euclid(by)))
                .filter(|t| t.1 != 0)
                .collect(),
        )
    }
    /// Its value where every symbol is large, to tell the larger of two.
    pub(super) fn typical(&self) -> i128 {
        let size = |s: &Symbol| match s {
            Symbol::Parameter(p) => 1000 + 10 * *p as i128,
            Symbol::Member(p, at) => 1000 + 10 * *p as i128 + i128::from(at % 1000),
            Symbol::Block(_) | Symbol::Thread(_) => 100,
            _ => 500,
        };
        let product = |k: &Vec<Symbol>| k.iter().map(size).product::<i128>();
        let terms = self.0.iter().map(|(k, v)| v.saturating_mul(product(k)));
        terms.fold(0, i128::saturating_add)
    }
    /// Without what makes it a little smaller: `n * n - n - 1` becomes `n * n`.
    pub fn rounded(&self) -> Polynomial {
        let most = self.0.keys().map(Vec::len).max().unwrap_or(0);
        let all = self.0.iter();
        let some = all.filter(|(k, v)| k.len() == most || **v > 0);
        Polynomial(some.map(|(k, v)| (k.clone(), *v)).collect())
    }
    /// Its value, if it is a number.
    pub fn constant(&self) -> Option<i128> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }
    /// As an expression, with names for the symbols.
    pub fn text(&self, name: impl Fn(Symbol) -> String) -> String {
        let mut out = String::new();
        // The products first, the number last.
        for (k, v) in self.0.iter().rev() {
            let sign = match (out.is_empty(), *v < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            let mut parts: Vec<String> = k.iter().map(|s| name(*s)).collect();
            if v.abs() != 1 || k.is_empty() {
                parts.insert(0, v.abs().to_string());
            }
            out += sign;
            out += &parts.join(" * ");
        }
        if out.is_empty() { "0".into() } else { out }
    }
}

/// A product without some of its symbols; none if they are not in it.
pub(super) fn without(k: &[Symbol], some: &[Symbol]) -> Option<Vec<Symbol>> {
    let mut rest = k.to_vec();
    for s in some {
        let at = rest.iter().position(|r| r == s)?;
        rest.remove(at);
    }
    Some(rest)
}
