//! Made functions of a plan.
use super::numbered::SiteChoices;
use super::{KernelPlan, Plan};
use crate::made_calls::{function_of, put, remove};
use crate::partition::Partition;
use kerf_num::made::MadeFunction;

impl KernelPlan {
    /// The made function of a site.
    pub fn made_function(&self, site: usize) -> Option<&MadeFunction> {
        function_of(&self.made, site)
    }

    /// Gives a site a made function, in the place of the one that it may have.
    pub fn put_made(&mut self, site: usize, function: &MadeFunction) {
        put(&mut self.made, site, function);
    }

    /// Takes made functions from sites.
    pub fn remove_made(&mut self, is_gone: impl Fn(usize) -> bool) {
        remove(&mut self.made, is_gone);
    }

    pub(super) fn choices(&self) -> SiteChoices<'_> {
        SiteChoices {
            formats: &self.sites,
            math: &self.math,
            made: &self.made,
        }
    }
}

impl Partition {
    /// The made function of a site in the second version.
    pub fn made_function(&self, site: usize) -> Option<&MadeFunction> {
        function_of(&self.made, site)
    }

    /// Gives a site of the second version a made function, in the place of the one that it may have.
    pub fn put_made(&mut self, site: usize, function: &MadeFunction) {
        put(&mut self.made, site, function);
    }

    /// Takes made functions from sites of the second version.
    pub fn remove_made(&mut self, is_gone: impl Fn(usize) -> bool) {
        remove(&mut self.made, is_gone);
    }

    pub(super) fn choices(&self) -> SiteChoices<'_> {
        SiteChoices {
            formats: &self.sites,
            math: &self.math,
            made: &self.made,
        }
    }
}

impl Plan {
    /// All made functions, each once, in the order in which the plan has them.
    pub fn functions(&self) -> Vec<&MadeFunction> {
        let mut all: Vec<&MadeFunction> = Vec::new();
        let mut ids = std::collections::BTreeSet::new();
        for k in self.kernels.values() {
            let second = k.partition.iter().flat_map(|p| &p.made);
            for c in k.made.iter().chain(second) {
                if ids.insert(c.function.id()) {
                    all.push(&c.function);
                }
            }
        }
        all
    }
}
