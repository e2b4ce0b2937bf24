//! Calls: of the user's functions, and of math functions by whatever name the plan's version has.
use super::*;
use crate::model::LOADS;
use crate::model::connect::{SINES, is_object_call};

impl<'w, 'a> ExpressionWalk<'w, 'a> {
    pub(super) fn call(&mut self, n: &'a AstNode, want: Want) -> Ty {
        let Some((callee, args)) = n.inner.split_first() else {
            return self.natural(n);
        };
        let c = strip(callee);
        let declared = c.refers.and_then(|r| self.model.decls.get(&r)).copied();
        let own = declared
            .filter(|d| d.is_function())
            .and_then(|d| self.model.definition(d));
        if let Some(f) = own {
            let params: Vec<&AstNode> = f.params().collect();
            let object = usize::from(is_object_call(n, f));
            if n.kind == "CXXMemberCallExpr" || object == 1 {
                self.indices_of(if object == 1 { &args[0] } else { callee });
            }
            for (k, a) in args.iter().skip(object).enumerate() {
                let p = params.get(k).and_then(|p| self.model.entity_of(p));
                let thing = p.map(|p| &self.model.things[p]);
                match p.filter(|_| thing.is_some_and(|t| t.scalar || t.vector)) {
                    Some(p) if self.model.things[p].vector => self.give(a, n, p),
                    Some(p) => {
                        let t = self.visit(a, self.format(p).into());
                        self.def(p, t);
                    }
                    // A reference to a vector that is made there.
                    None if p.is_some() && vector(&a.plain).is_some() => {
                        let want = p.map_or(Want::Any, |p| self.format(p).into());
                        self.visit(a, want);
                    }
                    None if p.is_some() => self.indices_arg(a),
                    None => {
                        self.visit(a, Want::Any);
                    }
                }
            }
            return match self
                .model
                .return_of(f)
                .filter(|_| scalar(&n.plain).is_some() || vector(&n.plain).is_some())
            {
                Some(e) => {
                    self.used(e, want);
                    ty(self.format(e))
                }
                None => self.natural(n),
            };
        }
        let name = c.refers_name.clone();
        if name.starts_with("make_double") && vector(&n.plain).is_some() {
            return self.make(c, args, want);
        }
        if LOADS.contains(&name.as_str())
            && let Some(e) = args.first().and_then(|a| self.model.memory(a))
        {
            self.indices_arg(&args[0]);
            self.used(e, want);
            return match scalar(&n.plain) {
                Some(_) => self.read(n, e),
                None if vector(&n.plain).is_some() => ty(self.format(e)),
                None => Ty::Other,
            };
        }
        if SINES.contains(&name.as_str())
            && let [angle, sine, cosine] = args
            && let Some(e) = self.model.memory(sine)
        {
            self.indices_arg(sine);
            self.indices_arg(cosine);
            return self.sines(n, c, angle, e);
        }
        if name.starts_with("__shfl_")
            && scalar(&n.plain).is_some()
            && let [_, value, rest @ ..] = args
        {
            // It gives the format of what it is given.
            rest.iter().for_each(|a| {
                self.visit(a, Want::Any);
            });
            return self.visit(value, want);
        }
        if !math::is_known(&name)
            || scalar(&n.plain).is_none() && !args.iter().any(|a| scalar(&a.plain).is_some())
        {
            for a in args {
                match vector(&a.plain) {
                    Some(_) => self.natural_vector(a, n),
                    None => {
                        self.visit(a, Want::Any);
                    }
                }
            }
            return self.natural(n);
        }
        self.math(n, c, args, &name, want)
    }

    /// `sincos(x, &s, &c)` in the format of what it writes to.
    fn sines(&mut self, n: &'a AstNode, callee: &'a AstNode, angle: &'a AstNode, e: Entity) -> Ty {
        let all = self.marks_at(n.begin.map(|b| (b.file, b.shown)));
        let mine: Vec<&SourceMark> = all.iter().filter(|m| m.from == Format::F64).collect();
        self.def(e, agreed(&mine).map_or(Ty::Flex, ty));
        let f = self.format(e);
        self.visit(angle, f.into());
        let new = match f {
            Format::F32 => format!("{}f", callee.refers_name),
            _ => return Ty::Other,
        };
        let Some(b) = callee.begin else {
            return Ty::Other;
        };
        let there = self
            .source(b.file)
            .is_some_and(|s| s.at(b) == callee.refers_name);
        if !there || b.via == Via::Macro {
            self.say(n, "the function's name is in the body of a macro");
            return Ty::Other;
        }
        self.edit(n, |e| e.replace(b.file, b.offset, b.after(), &new));
        Ty::Other
    }

    pub(super) fn indices_arg(&mut self, a: &'a AstNode) {
        let s = strip(a);
        if s.kind != "DeclRefExpr" {
            self.indices(s);
        }
    }

    pub(super) fn math(
        &mut self,
        n: &'a AstNode,
        callee: &'a AstNode,
        args: &'a [AstNode],
        name: &str,
        want: Want,
    ) -> Ty {
        let own = scalar(&n.plain).unwrap_or(Format::F64);
        let shown = n.begin.map(|b| (b.file, b.shown));
        let all = self.marks_at(shown);
        let mine: Vec<&SourceMark> = all.iter().filter(|m| m.from == own).collect();
        let wanted = agreed(&mine);
        let seeking = self.edits.is_none();
        let w = match (own, wanted) {
            (Format::F64, Some(w)) => w.into(),
            (Format::F64, None) => want,
            _ => Want::F32,
        };
        let mut wide = false;
        let mut first = None;
        for a in args {
            let t = self.visit(a, w);
            if scalar(&a.plain).is_none() {
                continue;
            }
            let t = match w {
                Want::F32 if own == Format::F64 => self.coerce(a, n, t, w),
                _ => t,
            };
            wide |= t == Ty::F64;
            if t == Ty::F32 {
                first = first.or(Some(a));
            }
        }
        let mut made = match (own, w, wide) {
            (Format::F32, _, _) => Format::F32,
            (_, Want::F32, false) => Format::F32,
            (_, Want::Any, false) if first.is_some() => Format::F32,
            _ => Format::F64,
        };
        if w == Want::F64
            && !wide
            && let Some(a) = first
        {
            // The overload for f32 would be taken.
            self.coerce(a, n, Ty::F32, Want::F64);
            made = Format::F64;
        }
        if seeking {
            return match (own, wanted) {
                (Format::F32, _) => Ty::F32,
                (_, Some(w)) => ty(w),
                (_, None) => Ty::Flex,
            };
        }
        let variants: BTreeSet<Option<MathVariant>> = mine
            .iter()
            .filter(|m| !is_arithmetic(&m.op) || m.variant.is_some())
            .map(|m| m.variant)
            .collect();
        let variant = match variants.len() {
            1 => variants.first().copied().flatten(),
            0 => None,
            _ => {
                self.say(n, "it is computed in several ways in the plan");
                None
            }
        };
        self.spell(n, callee, name, made, variant);
        ty(made)
    }

    pub(super) fn spell(
        &mut self,
        n: &'a AstNode,
        callee: &'a AstNode,
        name: &str,
        made: Format,
        variant: Option<MathVariant>,
    ) {
        let spelling = match math::call(name, self.cl, made, variant) {
            Some(s) => s,
            None => {
                let v = variant.map_or_else(String::new, |v| v.to_string());
                self.say(n, &format!("no function computes {name} by {v} in {made}"));
                math::call(name, self.cl, made, None).unwrap_or(Spelling::Name(None))
            }
        };
        let new = match spelling {
            Spelling::Name(None) => return,
            Spelling::Name(Some(n)) => n,
            Spelling::Helper(h) => h,
        };
        let Some(b) = callee.begin else { return };
        let Some(s) = self.source(b.file) else { return };
        // `std::exp` has its f32 version by the same name.
        let (at, qualified) = match callee.end {
            Some(e) if e.offset != b.offset => (e, true),
            _ => (b, false),
        };
        if qualified && variant.is_none() {
            return;
        }
        if s.at(at) != name || at.via == Via::Macro {
            self.say(n, "the function's name is in the body of a macro");
            return;
        }
        let done = self.edit(n, |e| e.replace(b.file, b.offset, at.after(), new));
        if done && let Spelling::Helper(h) = spelling {
            self.helpers.insert(h);
        }
    }
}
