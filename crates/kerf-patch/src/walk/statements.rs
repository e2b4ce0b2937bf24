//! Assignments, choices, casts and declarations.
use super::*;

impl<'w, 'a> ExpressionWalk<'w, 'a> {
    pub(super) fn compound(&mut self, n: &'a AstNode) -> Ty {
        let [l, r] = n.inner.as_slice() else {
            return self.natural(n);
        };
        let e = self.model.memory(l).filter(|_| scalar(&l.plain).is_some());
        self.indices_of(l);
        let Some(e) = e else {
            let w = scalar(&l.plain).map_or(Want::Any, Want::from);
            self.visit(r, w);
            return self.natural(n);
        };
        let (_, shown) = self.operator(n);
        let wanted = self.wanted(n, self.marks_at(shown), false);
        let have = self.format(e);
        if is_stored_only(have) {
            let t = self.visit(r, Want::from(wanted.unwrap_or(Format::F32)));
            self.update(n, l, r, e, t);
            self.def(e, wanted.map_or(Ty::Flex, ty));
            return Ty::F32;
        }
        let seeking = self.edits.is_none();
        match (wanted, have) {
            (Some(Format::F32), Format::F32) => {
                let t = self.visit(r, Want::F32);
                self.coerce(r, n, t, Want::F32);
            }
            (Some(Format::F64), Format::F32) if !seeking => {
                let t = self.visit(r, Want::F64);
                self.coerce(r, n, t, Want::F64);
            }
            (Some(w), _) => {
                self.visit(r, w.into());
                if w == Format::F32 && have == Format::F64 {
                    self.say(n, "what it adds to stays f64");
                }
            }
            (None, have) => {
                self.visit(r, have.into());
            }
        }
        if n.opcode == "/=" {
            let marks = self.marks_at(shown);
            self.divide_by(n, l, r, marks, have);
        }
        match wanted {
            Some(w) => {
                self.def(e, ty(w));
                self.used(e, w.into());
            }
            None => self.def(e, Ty::Flex),
        }
        ty(have)
    }

    pub(super) fn conditional(&mut self, n: &'a AstNode, want: Want) -> Ty {
        let [c, a, b] = n.inner.as_slice() else {
            return self.natural(n);
        };
        self.visit(c, Want::Any);
        if scalar(&n.plain).is_none() {
            let Some((own, _)) = vector(&n.plain) else {
                self.visit(a, Want::Any);
                self.visit(b, Want::Any);
                return Ty::Other;
            };
            let (x, y) = (self.visit(a, want), self.visit(b, want));
            if x == y {
                return x;
            }
            // Both sides of a choice have one type.
            self.convert(a, n, x, own);
            return self.convert(b, n, y, own);
        }
        let (first, second) = if flexible(a) { (b, a) } else { (a, b) };
        let x = self.visit(first, want);
        let then = match (x, want) {
            (Ty::F32, Want::Any) => Want::F32,
            (_, w) => w,
        };
        let y = self.visit(second, then);
        match (x, y) {
            (Ty::F64, _) | (_, Ty::F64) => Ty::F64,
            (Ty::F32, _) | (_, Ty::F32) => Ty::F32,
            (t, _) => t,
        }
    }

    pub(super) fn explicit(&mut self, n: &'a AstNode, want: Want) -> Ty {
        let Some(c) = n.inner.last() else {
            return self.natural(n);
        };
        match scalar(&n.plain) {
            Some(Format::F64) => {}
            Some(_) => {
                self.visit(c, Want::Any);
                return Ty::F32;
            }
            None => {
                self.visit(c, Want::Any);
                return Ty::Other;
            }
        }
        let t = self.visit(c, Want::Any);
        if self.edits.is_none() {
            return if flexible(n) || t == Ty::Flex {
                Ty::Flex
            } else {
                Ty::F64
            };
        }
        if want != Want::F32 {
            return Ty::F64;
        }
        match self.cast_type(n) {
            true => Ty::F32,
            false => Ty::F64,
        }
    }

    pub(super) fn variable(&mut self, n: &'a AstNode) -> Ty {
        let init = n
            .inner
            .iter()
            .find(|c| !c.kind.ends_with("Attr") && !c.kind.ends_with("Comment"));
        let Some(init) = init else { return Ty::Other };
        let Some(e) = self.model.entity_of(n) else {
            self.visit(init, Want::Any);
            return Ty::Other;
        };
        let want: Want = self.format(e).into();
        let s = strip(init);
        if self.model.things[e].vector {
            self.give(init, n, e);
        } else if s.kind == "InitListExpr" {
            self.list(s, e, want);
        } else if self.model.things[e].scalar {
            let t = self.visit(init, want);
            self.def(e, t);
            self.deduced(n, e, t);
        } else {
            self.indices(init);
        }
        Ty::Other
    }

    pub(super) fn list(&mut self, n: &'a AstNode, e: Entity, want: Want) {
        for c in &n.inner {
            if c.kind == "InitListExpr" {
                self.list(c, e, want);
            } else {
                let t = self.visit(c, want);
                self.def(e, t);
                // Braces let no number be narrowed.
                if scalar(&c.plain).is_some() && want == Want::F32 {
                    let t = self.coerce(c, n, t, want);
                    self.store(c, n, e, t);
                }
            }
        }
    }
}
