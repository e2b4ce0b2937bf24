//! A kernel's instructions by the site numbers of the program, after expressions were rewritten.
use super::error::{PlanError, PlanPlace};
use crate::formats;
use crate::made_calls::{MadeCallError, MadeCalls};
use crate::math::{self, MathVariant};
use crate::rewriting::{RewrittenCluster, rewrite};
use crate::site_format::SiteFormat;
use crate::specialise::Want;
use kerf_ir::rewriting::Rewriting;
use kerf_ir::sites::{self, Site, SiteMap};
use kerf_llvm::{Module, Value};
use kerf_num::made::MadeFunction;
use std::collections::BTreeMap;

/// What a plan, or a second version, says of single sites.
pub(super) struct SiteChoices<'p> {
    pub formats: &'p BTreeMap<usize, SiteFormat>,
    pub math: &'p BTreeMap<usize, MathVariant>,
    pub made: &'p [MadeCalls],
}

/// A kernel and its sites as they were before any of its expressions was rewritten.
pub(super) struct NumberedKernel<'n> {
    name: &'n str,
    map: SiteMap,
    clusters: Vec<RewrittenCluster>,
}

fn place(kernel: &str, s: &Site) -> PlanPlace {
    PlanPlace {
        kernel: kernel.to_owned(),
        site: s.id,
        op: s.op.clone(),
        line: s.location.as_ref().map(|l| l.line),
    }
}

/// The widest of two formats of one plan: one that holds the values of both.
fn widest(a: SiteFormat, b: SiteFormat, own: SiteFormat) -> SiteFormat {
    let bytes = |f: SiteFormat| f.word().bytes();
    match (a, b) {
        _ if a == b => a,
        // Pairs are wider than the program's own format, or hold it in two words.
        _ if a.is_pair() || b.is_pair() => own,
        _ if bytes(a) == bytes(b) => SiteFormat::F32,
        _ if bytes(a) > bytes(b) => a,
        _ => b,
    }
}

impl<'n> NumberedKernel<'n> {
    /// A kernel as it is.
    pub(super) fn unchanged(m: &Module, name: &'n str, f: Value) -> NumberedKernel<'n> {
        NumberedKernel {
            name,
            map: sites::sites(m, f),
            clusters: Vec::new(),
        }
    }

    /// A kernel whose expressions are rewritten here.
    pub(super) fn rewritten(
        m: &Module,
        name: &'n str,
        f: Value,
        rewrites: &[Rewriting],
    ) -> Result<NumberedKernel<'n>, PlanError> {
        let mut k = NumberedKernel::unchanged(m, name, f);
        k.clusters = rewrite(m, f, &k.map, rewrites).map_err(|why| PlanError::Rewriting {
            kernel: name.to_owned(),
            why,
        })?;
        Ok(k)
    }

    fn site(&self, id: usize) -> Result<&Site, PlanError> {
        let unknown = || PlanError::UnknownSite {
            kernel: self.name.to_owned(),
            site: id,
            count: self.map.sites.len(),
        };
        self.map.sites.get(id).ok_or_else(unknown)
    }

    fn is_replaced(&self, site: usize) -> bool {
        self.clusters.iter().any(|c| c.sites.contains(&site))
    }

    /// What is wanted of the kernel's instructions; refused as a whole if anything cannot be.
    pub(super) fn wants(
        &self,
        chosen: &SiteChoices,
        functions: &[&MadeFunction],
    ) -> Result<Vec<(Value, Want)>, PlanError> {
        let formats_of = chosen.formats;
        let mut all: BTreeMap<usize, Want> = BTreeMap::new();
        for (id, format) in formats_of {
            let s = self.site(*id)?;
            if SiteFormat::from(s.format) == *format || self.is_replaced(*id) {
                continue;
            }
            formats::check(self.map.instructions[*id], *format).map_err(|why| {
                PlanError::Refused {
                    place: place(self.name, s),
                    format: *format,
                    why,
                }
            })?;
            all.entry(*id).or_default().format = Some(*format);
        }
        self.want_variants(chosen.math, &mut all)?;
        self.want_functions(chosen.made, functions, &mut all)?;
        let mut out: Vec<(Value, Want)> = all
            .into_iter()
            .map(|(id, w)| (self.map.instructions[id], w))
            .collect();
        for c in &self.clusters {
            out.extend(self.new_formats(c, formats_of));
        }
        Ok(out)
    }

    fn want_variants(
        &self,
        math_of: &BTreeMap<usize, MathVariant>,
        all: &mut BTreeMap<usize, Want>,
    ) -> Result<(), PlanError> {
        for (id, variant) in math_of {
            let s = self.site(*id)?;
            let place = || place(self.name, s);
            let variant = *variant;
            if self.is_replaced(*id) {
                match variant {
                    MathVariant::Accurate => continue,
                    _ => {
                        let place = place();
                        return Err(PlanError::RewrittenVariant { place, variant });
                    }
                }
            }
            let format = all.get(id).and_then(|w| w.format);
            let format = format.unwrap_or_else(|| s.format.into());
            math::check(self.map.instructions[*id], variant, format).map_err(|why| {
                PlanError::Variant {
                    place: place(),
                    variant,
                    why,
                }
            })?;
            if variant != MathVariant::Accurate {
                all.entry(*id).or_default().math = Some(variant);
            }
        }
        Ok(())
    }

    fn want_functions(
        &self,
        made: &[MadeCalls],
        functions: &[&MadeFunction],
        all: &mut BTreeMap<usize, Want>,
    ) -> Result<(), PlanError> {
        for calls in made {
            let id_of = calls.function.id();
            let number = functions.iter().position(|f| f.id() == id_of);
            for id in &calls.sites {
                let s = self.site(*id)?;
                let refused = |why: MadeCallError| PlanError::Made {
                    place: place(self.name, s),
                    function: calls.function.function.clone(),
                    why: Box::new(why),
                };
                if self.is_replaced(*id) {
                    return Err(refused(MadeCallError::Rewritten));
                }
                let want = all.entry(*id).or_default();
                if want.math.is_some() || want.made.is_some() {
                    return Err(refused(MadeCallError::Twice));
                }
                let format = want.format.unwrap_or_else(|| s.format.into());
                math::check_made(self.map.instructions[*id], &calls.function, format)
                    .map_err(refused)?;
                want.made = number;
            }
        }
        Ok(())
    }

    /// Formats of the operations that stand for a cluster: the widest of those of its sites, as far as each can have it.
    fn new_formats(
        &self,
        c: &RewrittenCluster,
        formats_of: &BTreeMap<usize, SiteFormat>,
    ) -> Vec<(Value, Want)> {
        let own = |site: &usize| SiteFormat::from(self.map.sites[*site].format);
        let given = |site: &usize| formats_of.get(site).copied().unwrap_or_else(|| own(site));
        let Some(first) = c.sites.first() else {
            return Vec::new();
        };
        let own = own(first);
        let all = c.sites.iter().map(given);
        let format = all.reduce(|a, b| widest(a, b, own)).unwrap_or(own);
        let can = |i: &&Value| format != own && formats::check(**i, format).is_ok();
        let want = Want {
            format: Some(format),
            ..Want::default()
        };
        let changed = c.operations.iter().filter(can);
        changed.map(|i| (*i, want)).collect()
    }
}
