//! A space of parameters with constraints: what a user writes down, as a problem that strategies search.
//!
//! Parameters are lists of values, constraints are expressions over their names or functions. The points
//! are listed once, each constraint being tried as soon as the parameters that it needs have values.
use crate::expression::{Expression, ExpressionError, ExpressionValue};
use crate::problem::{Assignment, Level, Problem, Variable};
use std::fmt;

/// Points that a space may have; beyond it strategies would need too much memory.
pub const MOST_POINTS: usize = 1 << 22;

/// Combinations that are looked at, at most.
const MOST_STEPS: u64 = 1 << 28;

/// A parameter: a block size, a tile size, a `-D` define.
#[derive(Debug, Clone, PartialEq)]
pub struct SpaceParameter {
    /// Its name.
    pub name: String,
    /// What it may be, 1 to 255 values.
    pub values: Vec<ExpressionValue>,
}

impl SpaceParameter {
    /// A parameter of whole numbers.
    pub fn ints(name: impl Into<String>, values: impl IntoIterator<Item = i64>) -> SpaceParameter {
        SpaceParameter {
            name: name.into(),
            values: values.into_iter().map(ExpressionValue::Int).collect(),
        }
    }
}

type Test = Box<dyn Fn(&[&ExpressionValue]) -> bool + Send + Sync>;

enum Rule {
    /// An expression, and the parameter that each of its names is.
    Expression(Expression, Vec<usize>),
    /// A function of all parameters.
    Function(Test),
}

/// What a point has to satisfy.
pub struct Constraint {
    /// For people.
    pub text: String,
    rule: Rule,
}

impl fmt::Debug for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Constraint").field(&self.text).finish()
    }
}

/// Parameters and constraints.
#[derive(Debug, Default)]
pub struct Space {
    /// The parameters.
    pub params: Vec<SpaceParameter>,
    /// What points have to satisfy.
    pub constraints: Vec<Constraint>,
}

/// What is wrong with a space.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum SpaceError {
    /// A parameter that cannot be searched.
    #[error("parameter `{0}` has {1} values; help: 1 to 255 are possible")]
    Values(String, usize),
    /// Twice the same.
    #[error("parameter `{0}` has the value {1} twice; help: leave one out")]
    Repeated(String, String),
    /// Two of one name.
    #[error("two parameters are called `{0}`; help: rename one")]
    Twins(String),
    /// A list as a value.
    #[error(
        "parameter `{0}` has a list among its values; help: numbers, truth values and text are possible"
    )]
    List(String),
    /// A constraint that cannot be read.
    #[error("constraint `{0}`: {1}")]
    Constraint(String, ExpressionError),
    /// Nothing is left.
    #[error(
        "no point satisfies the constraints: `{constraint}` excludes the last {left} of {all} combinations that were left; help: relax it, or give its parameters other values"
    )]
    Nothing {
        /// The constraint that excluded the last.
        constraint: String,
        /// How many the constraints before it had left.
        left: u64,
        /// Combinations without constraints.
        all: u64,
    },
    /// Too many points.
    #[error(
        "the space has over {0} points, or too many combinations to find them; help: give parameters fewer values"
    )]
    TooLarge(usize),
}

impl Space {
    /// Without constraints.
    pub fn new(params: Vec<SpaceParameter>) -> Space {
        Space {
            params,
            constraints: Vec::new(),
        }
    }

    /// Adds a constraint as an expression over the names of the parameters.
    pub fn constrain(&mut self, text: &str) -> Result<(), SpaceError> {
        let wrong = |e| SpaceError::Constraint(text.to_owned(), e);
        let e = Expression::parse(text).map_err(wrong)?;
        let find = |n: &String| {
            let found = self.params.iter().position(|p| p.name == *n);
            found.ok_or_else(|| wrong(ExpressionError::Name(n.clone())))
        };
        let names = e.names().iter().map(find).collect::<Result<_, _>>()?;
        self.constraints.push(Constraint {
            text: text.to_owned(),
            rule: Rule::Expression(e, names),
        });
        Ok(())
    }

    /// Adds a constraint as a function of the values of all parameters, in their order; `text` is for
    /// people.
    pub fn constrain_by(
        &mut self,
        text: impl Into<String>,
        test: impl Fn(&[&ExpressionValue]) -> bool + Send + Sync + 'static,
    ) {
        self.constraints.push(Constraint {
            text: text.into(),
            rule: Rule::Function(Box::new(test)),
        });
    }

    /// Combinations without constraints, capped.
    pub fn combinations(&self) -> u64 {
        let each = self.params.iter().map(|p| p.values.len() as u64);
        each.fold(1, u64::saturating_mul)
    }

    fn check(&self) -> Result<(), SpaceError> {
        for (i, p) in self.params.iter().enumerate() {
            if !(1..=255).contains(&p.values.len()) {
                return Err(SpaceError::Values(p.name.clone(), p.values.len()));
            }
            if self.params[..i].iter().any(|q| q.name == p.name) {
                return Err(SpaceError::Twins(p.name.clone()));
            }
            for (j, v) in p.values.iter().enumerate() {
                if matches!(v, ExpressionValue::List(_)) {
                    return Err(SpaceError::List(p.name.clone()));
                }
                if p.values[..j].contains(v) {
                    return Err(SpaceError::Repeated(p.name.clone(), v.name()));
                }
            }
        }
        Ok(())
    }

    /// The points that satisfy all constraints, the last parameter changing fastest. What has no value,
    /// as where it divides by 0, counts as not satisfied.
    pub fn points(&self) -> Result<Vec<Assignment>, SpaceError> {
        self.check()?;
        if self.constraints.is_empty() && self.combinations() > MOST_POINTS as u64 {
            return Err(SpaceError::TooLarge(MOST_POINTS));
        }
        let n = self.params.len();
        // Each constraint at the last parameter that it needs.
        let mut due: Vec<Vec<usize>> = vec![Vec::new(); n + 1];
        for (c, constraint) in self.constraints.iter().enumerate() {
            let at = match &constraint.rule {
                Rule::Expression(_, names) => names.iter().map(|i| i + 1).max().unwrap_or(0),
                Rule::Function(_) => n,
            };
            due[at].push(c);
        }
        let mut walk = Walk {
            space: self,
            due,
            at: vec![0; n],
            excluded: vec![0; self.constraints.len()],
            out: Vec::new(),
            steps: 0,
        };
        walk.descend(0)?;
        if walk.out.is_empty() {
            return Err(self.nothing(&walk));
        }
        Ok(walk.out)
    }

    fn nothing(&self, walk: &Walk) -> SpaceError {
        // The constraint that excludes what is left is the last one that excluded anything.
        let order = walk.due.iter().flatten();
        let last = order.copied().rfind(|c| walk.excluded[*c] > 0);
        SpaceError::Nothing {
            constraint: last.map_or_else(String::new, |c| self.constraints[c].text.clone()),
            left: last.map_or(0, |c| walk.excluded[c]),
            all: self.combinations(),
        }
    }

    /// The variables of the problem.
    pub fn variables(&self) -> Vec<Variable> {
        let level = |v: &ExpressionValue| Level {
            value: v.number(),
            ..Level::named(v.name())
        };
        let variable =
            |p: &SpaceParameter| Variable::new(&p.name, p.values.iter().map(level).collect());
        self.params.iter().map(variable).collect()
    }

    /// As a problem where only time counts; [`crate::strategies::by_name`] has strategies for it, and
    /// [`crate::problem::Models::time`] may give a predicted time for each point.
    pub fn problem(&self) -> Result<Problem, SpaceError> {
        let points = self.points()?;
        Ok(Problem::categorical(self.variables(), points))
    }

    /// The values of a point.
    pub fn values(&self, a: &[u8]) -> Vec<&ExpressionValue> {
        let each = self.params.iter().zip(a);
        each.filter_map(|(p, l)| p.values.get(*l as usize))
            .collect()
    }
}

struct Walk<'s> {
    space: &'s Space,
    due: Vec<Vec<usize>>,
    at: Assignment,
    /// Combinations that each constraint excluded, after those before it.
    excluded: Vec<u64>,
    out: Vec<Assignment>,
    steps: u64,
}

impl Walk<'_> {
    fn descend(&mut self, depth: usize) -> Result<(), SpaceError> {
        let params = &self.space.params;
        self.steps += 1;
        if self.steps > MOST_STEPS || self.out.len() > MOST_POINTS {
            return Err(SpaceError::TooLarge(MOST_POINTS));
        }
        for i in 0..self.due[depth].len() {
            let c = self.due[depth][i];
            if !self.holds(c) {
                let below = params[depth..].iter().map(|p| p.values.len() as u64);
                self.excluded[c] += below.fold(1, u64::saturating_mul);
                return Ok(());
            }
        }
        let Some(p) = params.get(depth) else {
            self.out.push(self.at.clone());
            return Ok(());
        };
        for l in 0..p.values.len() as u8 {
            self.at[depth] = l;
            self.descend(depth + 1)?;
        }
        Ok(())
    }

    fn holds(&self, c: usize) -> bool {
        let value = |i: usize| self.space.params[i].values.get(self.at[i] as usize);
        match &self.space.constraints[c].rule {
            Rule::Expression(e, names) => {
                let found = e.value(&|i| names.get(i).and_then(|p| value(*p)));
                found.is_ok_and(|v| v.truth())
            }
            Rule::Function(f) => {
                let all: Vec<&ExpressionValue> = (0..self.at.len()).filter_map(value).collect();
                f(&all)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        Space::new(vec![
            SpaceParameter::ints("bx", [16, 32, 64]),
            SpaceParameter::ints("by", [1, 2, 4]),
            SpaceParameter {
                name: "how".into(),
                values: vec![
                    ExpressionValue::Text("a".into()),
                    ExpressionValue::Bool(true),
                ],
            },
        ])
    }

    #[test]
    fn points_satisfy_all_constraints() {
        let mut s = space();
        s.constrain("64 <= bx * by <= 128").expect("a constraint");
        s.constrain("how == 'a' or by > 1").expect("a constraint");
        s.constrain_by("no 32", |v| v[0].number() != Some(32.0));
        let points = s.points().expect("points");
        let named: Vec<String> = points
            .iter()
            .map(|p| {
                s.values(p)
                    .iter()
                    .map(|v| v.name())
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        assert_eq!(
            named,
            ["16 4 a", "16 4 true", "64 1 a", "64 2 a", "64 2 true"]
        );
        let p = s.problem().expect("a problem");
        assert_eq!(p.check(), Ok(()));
        assert_eq!(p.size(), 5);
        assert_eq!(s.combinations(), 18);
    }

    #[test]
    fn what_leaves_nothing_is_named() {
        let mut s = space();
        s.constrain("bx >= 32").expect("a constraint");
        s.constrain("by > 100").expect("a constraint");
        let said = s.points().expect_err("nothing").to_string();
        assert!(
            said.contains("`by > 100` excludes the last 12 of 18"),
            "{said}"
        );
        let mut s = space();
        s.constrain("bx // (by - by) > 0").expect("a constraint");
        assert!(s.points().is_err());
        let said = s.constrain("bz > 1").expect_err("no such").to_string();
        assert!(said.contains("`bz` is no parameter"), "{said}");
    }

    #[test]
    fn parameters_are_checked() {
        let of = |p| Space::new(vec![p]).points().expect_err("wrong").to_string();
        assert!(of(SpaceParameter::ints("x", [])).contains("0 values"));
        assert!(of(SpaceParameter::ints("x", 0..300)).contains("300 values"));
        assert!(of(SpaceParameter::ints("x", [1, 1])).contains("twice"));
        let twins = vec![
            SpaceParameter::ints("x", [1]),
            SpaceParameter::ints("x", [2]),
        ];
        assert!(
            Space::new(twins)
                .points()
                .expect_err("twins")
                .to_string()
                .contains("two")
        );
        let huge = (0..5)
            .map(|i| SpaceParameter::ints(i.to_string(), 0..255))
            .collect();
        assert!(matches!(
            Space::new(huge).points(),
            Err(SpaceError::TooLarge(_))
        ));
        // One point, and none at all to choose.
        assert_eq!(
            Space::new(vec![SpaceParameter::ints("x", [1])]).points(),
            Ok(vec![vec![0]])
        );
        assert_eq!(Space::new(Vec::new()).points(), Ok(vec![vec![]]));
    }
}
