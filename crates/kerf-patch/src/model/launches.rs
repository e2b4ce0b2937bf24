//! Pointers of the host code of the same source that kernels are launched with.
use super::*;
use crate::host;

impl<'a> DeclarationModel<'a> {
    /// Pointers that host code of this source passes to kernels.
    pub(super) fn launches(&mut self) {
        let mut calls: Vec<&'a AstNode> = Vec::new();
        for d in self.decls.values().copied().filter(|d| d.is_function()) {
            let Some(b) = d.body() else { continue };
            b.walk(&mut |n| {
                if n.kind == "CUDAKernelCallExpr" {
                    calls.push(n);
                }
                true
            });
        }
        let mut pointers: BTreeMap<u64, Entity> = BTreeMap::new();
        for call in calls {
            let kernel = call
                .inner
                .first()
                .and_then(|c| self.decls.get(&strip(c).refers?))
                .copied();
            let Some(kernel) = kernel.and_then(|k| self.definition(k)) else {
                continue;
            };
            let args = call.inner.iter().skip(1).filter(|a| !is_config(a));
            for (p, a) in kernel.params().zip(args) {
                let Some(e) = self.entity_of(p).filter(|e| !self.things[*e].scalar) else {
                    continue;
                };
                let d = host::variable(a).and_then(|v| self.decls.get(&v)).copied();
                match d.filter(|d| {
                    d.kind == "VarDecl" && element(&d.plain) == Some(self.things[e].own)
                }) {
                    Some(d) => {
                        let own = self.things[e].own;
                        let shape = declare::Shape::memory(own, &d.plain);
                        self.add(d, DeclarationKind::Local, shape);
                        if let Some(h) = self.entity_of(d) {
                            self.join(e, h);
                            pointers.insert(d.id, h);
                        }
                    }
                    None => self.fix(e, FixedReason::UnknownArgument),
                }
            }
        }
        self.follow(&pointers);
    }

    /// Everything that host code does with pointers that it passes to kernels.
    pub(super) fn follow(&mut self, pointers: &BTreeMap<u64, Entity>) {
        let mut fixes: Vec<Entity> = Vec::new();
        let mut joins: Vec<(Entity, Entity)> = Vec::new();
        let mut copies: Vec<(Entity, Copied)> = Vec::new();
        let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
        let mut known: BTreeMap<u64, usize> = BTreeMap::new();
        for d in self.decls.values().filter(|d| d.is_function()) {
            let Some(b) = d.body() else { continue };
            b.walk(&mut |n| {
                if n.kind == "DeclRefExpr"
                    && let Some(p) = n.refers.filter(|r| pointers.contains_key(r))
                {
                    *seen.entry(p).or_default() += 1;
                }
                if n.kind == "CUDAKernelCallExpr" {
                    for a in n.inner.iter().skip(1).filter(|a| !is_config(a)) {
                        if let Some(p) = host::variable(a).filter(|p| pointers.contains_key(p)) {
                            *known.entry(p).or_default() += 1;
                        }
                    }
                }
                if n.kind == "CallExpr" {
                    for a in n.inner.iter().skip(1) {
                        let Some(p) = host::variable(a).filter(|p| pointers.contains_key(p)) else {
                            continue;
                        };
                        let e = pointers[&p];
                        match host::pointer_use(n, p, self.sources) {
                            host::PointerUse::Harmless => {}
                            host::PointerUse::Copy(c) => copies.push((e, c)),
                            host::PointerUse::With(all) => {
                                for o in all {
                                    match pointers.get(&o) {
                                        Some(o) => joins.push((e, *o)),
                                        None => fixes.push(e),
                                    }
                                }
                            }
                            host::PointerUse::Other => fixes.push(e),
                        }
                        *known.entry(p).or_default() += 1;
                    }
                }
                true
            });
        }
        for (p, e) in pointers {
            if seen.get(p) != known.get(p) {
                fixes.push(*e);
            }
        }
        for (a, b) in joins {
            self.join(a, b);
        }
        for e in fixes {
            self.fix(e, FixedReason::UnknownHostUse);
        }
        self.copies = copies;
    }
}

/// The grid and block of a launch.
pub(super) fn is_config(n: &AstNode) -> bool {
    n.kind == "CallExpr"
        && n.inner.first().is_some_and(|c| {
            let name = strip(c).refers_name.as_str();
            name.contains("ConfigureCall") || name.contains("CallConfiguration")
        })
}
