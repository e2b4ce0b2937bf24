//! Groups: what changes as one is a variable of the search.
use crate::formats::significant_bits;
use crate::made_level::MadeLevel;
use crate::rewrite_level::RewriteLevel;
use crate::setting::Setting;
use crate::storage::StoragePlace;
use crate::subject::Kernel;
use kerf_num::Format;
use serde::{Deserialize, Serialize};

/// What changes its format as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grouping {
    /// Source variables.
    Variable,
    /// Chains of operations without a conversion between them: the def-use rule of AMPT-GA.
    Chain,
    /// Source lines.
    Line,
    /// Every site by itself.
    Site,
}

/// A group of sites, or memory, that is one variable of the search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// For people: `body_forces: acc`, `buffer in`.
    pub name: String,
    /// Kernel, as plans name it; the first of them for memory.
    pub kernel: String,
    /// Position of the kernel in the subject.
    #[serde(skip)]
    pub at: usize,
    /// What it is by level: formats, variants, parts of the warps. The first is the program's own.
    pub formats: Vec<Setting>,
    /// Its sites in that kernel.
    pub sites: Vec<usize>,
    /// Source lines, ascending.
    pub lines: Vec<u32>,
    /// For memory: what it is in each kernel. Empty for operations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<StoragePlace>,
    /// For a cluster of expressions: what its levels after the first are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewrites: Vec<RewriteLevel>,
    /// For math calls: what the levels after the first are, where those are made functions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<MadeLevel>,
}

impl Group {
    /// Something that is chosen of launches.
    pub fn for_launch(name: &str, levels: Vec<Setting>) -> Group {
        Group {
            name: name.to_owned(),
            kernel: String::new(),
            at: 0,
            formats: levels,
            sites: Vec::new(),
            lines: Vec::new(),
            holds: Vec::new(),
            rewrites: Vec::new(),
            made: Vec::new(),
        }
    }

    /// How many levels come before those that are wider than its own: the program's own, and what is lower.
    pub fn lower_levels(&self) -> usize {
        let bits = |s: &Setting| s.format().map(significant_bits);
        let own = self.formats.first().and_then(bits);
        let wider = |s: &Setting| matches!((bits(s), own), (Some(b), Some(own)) if b > own);
        let found = self.formats.iter().position(wider);
        found.unwrap_or(self.formats.len())
    }

    /// Whether a level is a format that is wider than its own.
    pub fn raises(&self, level: u8) -> bool {
        usize::from(level) >= self.lower_levels()
    }

    /// Its operations; those of memory may be in several kernels.
    pub fn operations(&self) -> usize {
        let held: usize = self.holds.iter().map(|p| p.sites.len()).sum();
        held.max(self.sites.len())
    }
}

/// What a site is grouped by: something to order by, and a name.
pub(crate) fn key(k: &Kernel, site: usize, by: Grouping) -> (String, Format, usize) {
    let s = &k.sites[site];
    let line = || match &s.location {
        Some(l) if l.line > 0 => format!("line {}", l.line),
        _ => "no line".to_owned(),
    };
    match by {
        Grouping::Variable => {
            let v = k.variables[site].as_ref();
            let name = v.map_or_else(String::new, |v| match &v.function {
                Some(f) => format!("{} in {f}", v.name),
                None => v.name.clone(),
            });
            (name, s.format, 0)
        }
        Grouping::Chain => (format!("group {}", s.group), s.format, s.group),
        Grouping::Line => (line(), s.format, 0),
        Grouping::Site => (
            format!("site {site} ({}, {})", s.op, line()),
            s.format,
            site,
        ),
    }
}
