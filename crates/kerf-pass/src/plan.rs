//! A plan: what to do to a program's kernels. The identity plan changes nothing.
use crate::formats;
use crate::site_format::SiteFormat;
use crate::specialise::{Wanted, specialise};
use kerf_ir::kernels::{self, KernelInfo};
use kerf_ir::llvm::{LlvmError, Module};
use kerf_ir::sites::{self, Site};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What to do to one kernel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KernelPlan {
    /// Format of a site, by site number.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sites: BTreeMap<usize, SiteFormat>,
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

/// Where a plan asks for something.
#[derive(Debug, Clone)]
pub struct Place {
    /// Kernel.
    pub kernel: String,
    /// Site.
    pub site: usize,
    /// What the site does.
    pub op: String,
    /// Source line, if known.
    pub line: Option<u32>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "site {} of kernel {} ({}",
            self.site, self.kernel, self.op
        )?;
        match self.line {
            Some(l) => write!(f, ", line {l})"),
            None => write!(f, ")"),
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
    /// There is no such kernel.
    #[error(
        "the plan names kernel `{kernel}`, which the source does not have; expected one of {}",
        have.join(", ")
    )]
    UnknownKernel {
        /// As the plan names it.
        kernel: String,
        /// Those that are there.
        have: Vec<String>,
    },
    /// There is no such site.
    #[error("the plan names site {site} of kernel {kernel}, which has {count} sites, from 0")]
    UnknownSite {
        /// Kernel.
        kernel: String,
        /// As the plan numbers it.
        site: usize,
        /// Sites of the kernel.
        count: usize,
    },
    /// The site has no such form.
    #[error("{place} cannot become {format}: {why}")]
    Refused {
        /// The site.
        place: Place,
        /// Format asked for.
        format: SiteFormat,
        /// What stands against it.
        why: String,
    },
    /// Kernels want different things of a function that is called through pointers.
    #[error(
        "kernels want different formats of {function}, which is called through a pointer; help: give its sites the same formats in all kernels"
    )]
    Shared {
        /// The function.
        function: String,
    },
    /// A pass failed.
    #[error("the plan could not be carried out: {0}")]
    Pass(#[from] LlvmError),
}

fn place(kernel: &str, s: &Site) -> Place {
    Place {
        kernel: kernel.to_owned(),
        site: s.id,
        op: s.op.clone(),
        line: s.location.as_ref().map(|l| l.line),
    }
}

/// A kernel's name if that finds it, its symbol where several share the name.
fn name_of(k: &KernelInfo, all: &[KernelInfo]) -> String {
    match kernels::find(all, &k.name) {
        Ok(found) if found.symbol == k.symbol => k.name.clone(),
        _ => k.symbol.clone(),
    }
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

    /// The plan that gives a format to every site of a prepared module that can have it.
    pub fn all_sites(m: &Module, format: SiteFormat) -> Plan {
        let infos = kernels::kernels(m);
        let mut plan = Plan::default();
        for k in &infos {
            let Some(f) = m.function(&k.symbol) else {
                continue;
            };
            let map = sites::sites(m, f);
            let can = |s: &Site| {
                SiteFormat::from(s.format) == format
                    || formats::check(map.instructions[s.id], format).is_ok()
            };
            let sites: BTreeMap<usize, SiteFormat> = map
                .sites
                .iter()
                .filter(|s| can(s))
                .map(|s| (s.id, format))
                .collect();
            if !sites.is_empty() {
                plan.kernels
                    .insert(name_of(k, &infos), KernelPlan { sites });
            }
        }
        plan
    }

    /// Carries the plan out on a prepared module. What cannot be done is refused, not left out; a site
    /// that is to keep the format it has is left alone.
    pub fn apply(&self, m: &Module) -> Result<(), PlanError> {
        let infos = kernels::kernels(m);
        let mut wanted = Wanted::new();
        for (name, k) in &self.kernels {
            let unknown = |have| PlanError::UnknownKernel {
                kernel: name.clone(),
                have,
            };
            let info = kernels::find(&infos, name).map_err(unknown)?;
            let f = m
                .function(&info.symbol)
                .ok_or_else(|| unknown(vec![info.name.clone()]))?;
            let map = sites::sites(m, f);
            let mut chosen = Vec::new();
            for (id, format) in &k.sites {
                let s = map.sites.get(*id).ok_or_else(|| PlanError::UnknownSite {
                    kernel: name.clone(),
                    site: *id,
                    count: map.sites.len(),
                })?;
                let i = map.instructions[*id];
                if SiteFormat::from(s.format) == *format {
                    continue;
                }
                formats::check(i, *format).map_err(|why| PlanError::Refused {
                    place: place(name, s),
                    format: *format,
                    why,
                })?;
                chosen.push((i, *format));
            }
            match wanted.iter_mut().find(|w| w.0 == f) {
                Some(w) => w.1.extend(chosen),
                None => wanted.push((f, chosen)),
            }
        }
        if wanted.iter().all(|w| w.1.is_empty()) {
            return Ok(());
        }
        let chosen = specialise(m, &wanted).map_err(|e| PlanError::Shared {
            function: kerf_ir::llvm::demangle(&e.0.name()),
        })?;
        Ok(formats::apply(m, chosen)?)
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
        let text = r#"{"version":1,"kernels":{"k":{"sites":{"3":"f32","4":"dw64.cmp"}}}}"#;
        let p = Plan::parse(text).expect("parses");
        assert!(!p.is_identity());
        assert_eq!(serde_json::to_string(&p).expect("serialises"), text);
    }
}
