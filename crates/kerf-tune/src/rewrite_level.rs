//! Levels of a cluster of expressions: the forms that it can be written in.
use crate::setting::{Setting, intern};
use kerf_algebra::RewriteCandidate;
use kerf_ir::rewriting::Rewriting;
use serde::{Deserialize, Serialize};

/// The level of a cluster as it is written.
pub const AS_WRITTEN: &str = "source";

/// Before the identifier of a rewriting, in the name of its level.
pub const PREFIX: &str = "rewrite-";

/// An expression before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewrittenExpression {
    /// Source line; 0 if unknown.
    pub line: u32,
    /// Source variable that holds the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// As it is written.
    pub before: String,
    /// As it is computed instead.
    pub after: String,
}

/// A level of a cluster's variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RewriteLevel {
    /// What a plan says.
    pub rewriting: Rewriting,
    /// Time of its operations over that of those that are written, by the profile.
    pub cost: f64,
    /// Relative error by rounding, estimated on random values.
    pub error: f64,
    /// The same of the expressions as they are written.
    pub own_error: f64,
    /// What changes.
    pub changes: Vec<RewrittenExpression>,
}

impl RewriteLevel {
    pub(crate) fn new(c: RewriteCandidate) -> RewriteLevel {
        let changes = c.changes.into_iter().map(|k| RewrittenExpression {
            line: k.line,
            variable: k.variable,
            before: k.before,
            after: k.after,
        });
        RewriteLevel {
            changes: changes.collect(),
            rewriting: c.rewriting,
            cost: c.cost,
            error: c.error,
            own_error: c.own_error,
        }
    }

    /// As the search names it.
    pub fn setting(&self) -> Setting {
        Setting::Rewrite(intern(&format!("{PREFIX}{}", self.rewriting.id())))
    }
}
