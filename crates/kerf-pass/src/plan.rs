//! A plan: what to do to a program's kernels. The identity plan changes nothing.
use kerf_num::Format;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What to do to one kernel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KernelPlan {
    /// Format of a site, by site number.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sites: BTreeMap<usize, Format>,
}

/// A plan for a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of this schema.
    pub version: u32,
    /// What to do, by kernel name; kernels that are not named stay as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kernels: BTreeMap<String, KernelPlan>,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            version: 1,
            kernels: BTreeMap::new(),
        }
    }
}

/// Why a plan cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// It does not parse.
    #[error("not a plan: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A later version's.
    #[error("plan version {0} is not known; this Kerf reads version 1")]
    Version(u32),
    /// It asks for something that no pass does yet.
    #[error(
        "the plan changes sites of kernel {kernel}, and this Kerf applies only the identity plan"
    )]
    NotIdentity {
        /// The first such kernel.
        kernel: String,
    },
}

impl Plan {
    /// Parses JSON.
    pub fn parse(text: &str) -> Result<Plan, PlanError> {
        let p: Plan = serde_json::from_str(text)?;
        if p.version != 1 {
            return Err(PlanError::Version(p.version));
        }
        Ok(p)
    }
    /// Does it change nothing?
    pub fn is_identity(&self) -> bool {
        self.kernels.values().all(|k| k.sites.is_empty())
    }
    /// Carries the plan out on a prepared module. Only the identity plan is understood so far;
    /// anything else is refused, not ignored.
    pub fn apply(&self, _m: &kerf_ir::llvm::Module) -> Result<(), PlanError> {
        match self.kernels.iter().find(|(_, k)| !k.sites.is_empty()) {
            Some((kernel, _)) => Err(PlanError::NotIdentity {
                kernel: kernel.clone(),
            }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_round_trips_and_unknown_fields_are_refused() {
        let text = serde_json::to_string(&Plan::default()).expect("serialises");
        assert_eq!(text, r#"{"version":1}"#);
        assert!(Plan::parse(&text).expect("parses").is_identity());
        assert!(matches!(
            Plan::parse(r#"{"version":2}"#),
            Err(PlanError::Version(2))
        ));
        assert!(Plan::parse(r#"{"version":1,"sitez":{}}"#).is_err());
        let p =
            Plan::parse(r#"{"version":1,"kernels":{"k":{"sites":{"3":"f32"}}}}"#).expect("parses");
        assert!(!p.is_identity());
    }
}
