//! The language of the e-graph, and what is known of each of its classes.
use egg::{Analysis, DidMerge, EGraph, Id, Language, define_language};
use kerf_ir::pure_operation::PureOperation;
use kerf_num::Format;
use std::str::FromStr;

/// A number, by its bits: equal only to itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NumberBits(pub u64);

impl NumberBits {
    pub(crate) fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl FromStr for NumberBits {
    type Err = std::num::ParseFloatError;
    fn from_str(text: &str) -> Result<NumberBits, Self::Err> {
        text.parse().map(|v: f64| NumberBits(v.to_bits()))
    }
}

impl std::fmt::Display for NumberBits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.value())
    }
}

/// A leaf of the cluster, by its number.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LeafNumber(pub u32);

/// No leaf.
#[derive(Debug)]
pub(crate) struct ParseLeafError;

impl FromStr for LeafNumber {
    type Err = ParseLeafError;
    fn from_str(text: &str) -> Result<LeafNumber, ParseLeafError> {
        let n = text.strip_prefix('@').and_then(|n| n.parse().ok());
        n.map(LeafNumber).ok_or(ParseLeafError)
    }
}

impl std::fmt::Display for LeafNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "@{}", self.0)
    }
}

define_language! {
    /// An expression; operations are called as in [`PureOperation`], the first four as in rules.
    pub(crate) enum Term {
        "+" = Add([Id; 2]),
        "-" = Sub([Id; 2]),
        "*" = Mul([Id; 2]),
        "/" = Div([Id; 2]),
        "neg" = Neg([Id; 1]),
        "fma" = Fma([Id; 3]),
        "fabs" = Abs([Id; 1]),
        "sqrt" = Sqrt([Id; 1]),
        "rsqrt" = Rsqrt([Id; 1]),
        "cbrt" = Cbrt([Id; 1]),
        "rcbrt" = Rcbrt([Id; 1]),
        "exp" = Exp([Id; 1]),
        "exp2" = Exp2([Id; 1]),
        "exp10" = Exp10([Id; 1]),
        "log" = Log([Id; 1]),
        "log2" = Log2([Id; 1]),
        "log10" = Log10([Id; 1]),
        "pow" = Pow([Id; 2]),
        "sin" = Sin([Id; 1]),
        "cos" = Cos([Id; 1]),
        "tan" = Tan([Id; 1]),
        "hypot" = Hypot([Id; 2]),
        "rhypot" = Rhypot([Id; 2]),
        "outputs" = Outputs(Box<[Id]>),
        Number(NumberBits),
        Leaf(LeafNumber),
    }
}

/// Both ways between operations and terms.
macro_rules! operations {
    ($($name:ident),*) => {
        /// The operation of a term; none for numbers, leaves and the list of outputs.
        pub(crate) fn operation(t: &Term) -> Option<PureOperation> {
            match t {
                $(Term::$name(_) => Some(PureOperation::$name),)*
                Term::Outputs(_) | Term::Number(_) | Term::Leaf(_) => None,
            }
        }
        /// An operation on classes, as many as it takes.
        pub(crate) fn applied(o: PureOperation, to: &[Id]) -> Option<Term> {
            Some(match o {
                $(PureOperation::$name => Term::$name(to.try_into().ok()?),)*
            })
        }
    };
}
operations!(
    Add, Sub, Mul, Div, Neg, Fma, Abs, Sqrt, Rsqrt, Cbrt, Rcbrt, Exp, Exp2, Exp10, Log, Log2,
    Log10, Pow, Sin, Cos, Tan, Hypot, Rhypot
);

/// What is known of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Facts {
    /// Its value, where it is the same number always.
    pub constant: Option<NumberBits>,
    /// It is not below zero, or it is NaN.
    pub non_negative: bool,
    /// Loops around the place where it can first be computed.
    pub loop_depth: u32,
}

/// What the e-graph knows of its leaves.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeafFacts {
    /// Loops around each leaf.
    pub loop_depths: Vec<u32>,
    /// The format of all values.
    pub single: bool,
}

/// The e-graph of a cluster.
pub(crate) type Graph = EGraph<Term, LeafFacts>;

/// The result of an operation on numbers in a format, rounded once; none for functions that are not correctly rounded
/// on every device.
pub(crate) fn folded(o: PureOperation, x: &[f64], format: Format) -> Option<f64> {
    use PureOperation::*;
    let single = format == Format::F32;
    Some(match (o, x) {
        (Add, [a, b]) if single => f64::from(*a as f32 + *b as f32),
        (Sub, [a, b]) if single => f64::from(*a as f32 - *b as f32),
        (Mul, [a, b]) if single => f64::from(*a as f32 * *b as f32),
        (Div, [a, b]) if single => f64::from(*a as f32 / *b as f32),
        (Sqrt, [a]) if single => f64::from((*a as f32).sqrt()),
        (Add, [a, b]) => a + b,
        (Sub, [a, b]) => a - b,
        (Mul, [a, b]) => a * b,
        (Div, [a, b]) => a / b,
        (Sqrt, [a]) => a.sqrt(),
        (Neg, [a]) => -a,
        (Abs, [a]) => a.abs(),
        _ => return None,
    })
}

/// What `a + b` loses in its rounded sum (Knuth's two-sum).
fn sum_error(a: f64, b: f64, sum: f64) -> f64 {
    let part = sum - a;
    (a - (sum - part)) + (b - part)
}

/// [`folded`] where that rounds nothing: only then is the number equal to the expression.
fn folded_exactly(o: PureOperation, x: &[f64], format: Format) -> Option<f64> {
    use PureOperation::*;
    let r = folded(o, x, format).filter(|r| r.is_finite())?;
    let exact = match (o, x) {
        (Add, [a, b]) => sum_error(*a, *b, r) == 0.0,
        (Sub, [a, b]) => sum_error(*a, -b, r) == 0.0,
        (Mul, [a, b]) => a.mul_add(*b, -r) == 0.0 && (r != 0.0 || *a == 0.0 || *b == 0.0),
        (Div, [a, b]) => r.mul_add(*b, -a) == 0.0 && *b != 0.0,
        (Sqrt, [a]) => r.mul_add(r, -a) == 0.0,
        _ => true,
    };
    exact.then_some(r)
}

fn non_negative(g: &Graph, t: &Term) -> bool {
    let known = |i: &Id| g[*i].data.non_negative;
    let same = |a: &Id, b: &Id| g.find(*a) == g.find(*b);
    match t {
        Term::Number(n) => n.value() >= 0.0,
        Term::Sqrt(_) | Term::Rsqrt(_) | Term::Exp(_) | Term::Exp2(_) | Term::Exp10(_) => true,
        Term::Abs(_) | Term::Hypot(_) | Term::Rhypot(_) => true,
        Term::Mul([a, b]) => same(a, b) || known(a) && known(b),
        Term::Add([a, b]) | Term::Div([a, b]) => known(a) && known(b),
        Term::Fma([a, b, c]) => known(c) && (same(a, b) || known(a) && known(b)),
        Term::Pow([a, _]) | Term::Cbrt([a]) | Term::Rcbrt([a]) => known(a),
        _ => false,
    }
}

impl Analysis<Term> for LeafFacts {
    type Data = Facts;

    fn make(g: &mut Graph, t: &Term, _: Id) -> Facts {
        let numbers = || -> Option<Vec<f64>> {
            let each = t.children().iter();
            each.map(|c| g[*c].data.constant.map(NumberBits::value))
                .collect()
        };
        let format = match g.analysis.single {
            true => Format::F32,
            false => Format::F64,
        };
        let constant = match t {
            Term::Number(n) => Some(*n),
            _ => operation(t)
                .and_then(|o| folded_exactly(o, &numbers()?, format))
                .map(|v| NumberBits(v.to_bits())),
        };
        let loop_depth = match t {
            Term::Leaf(n) => g.analysis.loop_depths.get(n.0 as usize).copied(),
            _ => t.children().iter().map(|c| g[*c].data.loop_depth).max(),
        };
        Facts {
            constant,
            non_negative: non_negative(g, t),
            loop_depth: loop_depth.unwrap_or(0),
        }
    }

    fn merge(&mut self, a: &mut Facts, b: Facts) -> DidMerge {
        let (before, all) = (
            *a,
            Facts {
                constant: a.constant.or(b.constant),
                non_negative: a.non_negative || b.non_negative,
                loop_depth: a.loop_depth.min(b.loop_depth),
            },
        );
        *a = all;
        DidMerge(before != all, b != all)
    }

    fn modify(g: &mut Graph, id: Id) {
        if let Some(n) = g[id].data.constant {
            let number = g.add(Term::Number(n));
            g.union(id, number);
        }
    }
}
