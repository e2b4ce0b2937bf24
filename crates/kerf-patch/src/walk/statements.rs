//! Assignments, choices, casts and declarations.
use super::*;

impl<'w, 'a> ExpressionWalk<'w, 'a> {
    /// `a = b` of numbers.
    pub(super) fn assignment(&mut self, assignment: BinaryExpression<'a>) -> Ty {
        let BinaryExpression { node, left, right } = assignment;
        self.indices_of(left);
        let own = scalar(&left.plain);
        let Some(entity) = self.model.memory(left).filter(|_| own.is_some()) else {
            self.visit(right, own.map_or(Want::Any, Want::from));
            return self.natural(node);
        };
        let have = self.visit(right, self.format(entity).into());
        self.def(entity, have);
        self.store(right, node, entity, have);
        ty(self.format(entity))
    }

    /// `a += b` of numbers.
    pub(super) fn compound(&mut self, node: &'a AstNode) -> Ty {
        let Some(assignment) = BinaryExpression::from_node(node) else {
            return self.natural(node);
        };
        let BinaryExpression { left, right, .. } = assignment;
        self.indices_of(left);
        let own = scalar(&left.plain);
        let Some(entity) = self.model.memory(left).filter(|_| own.is_some()) else {
            self.visit(right, own.map_or(Want::Any, Want::from));
            return self.natural(node);
        };
        let marks = self.marks_at(self.operator(node).1);
        let planned = self.planned(node, marks, false);
        let have = self.format(entity);
        if is_stored_only(have) {
            let value = self.visit(right, planned.unwrap_or(Format::F32).into());
            self.update(assignment, entity, value);
            self.def(entity, planned.map_or(Ty::Flex, ty));
            return Ty::F32;
        }
        let seeking = self.edits.is_none();
        let want = planned.unwrap_or(have).into();
        let value = self.visit(right, want);
        match (planned, have) {
            (Some(Format::F32), Format::F32) => {
                self.coerce(right, node, value, want);
            }
            (Some(Format::F64), Format::F32) if !seeking => {
                self.coerce(right, node, value, want);
            }
            (Some(Format::F32), Format::F64) => self.say(node, "what it adds to stays f64"),
            _ => {}
        }
        if node.opcode == "/=" {
            self.divide_assign(assignment, marks, have);
        }
        self.def(entity, planned.map_or(Ty::Flex, ty));
        if let Some(planned) = planned {
            self.used(entity, planned.into());
        }
        ty(have)
    }

    pub(super) fn return_statement(&mut self, node: &'a AstNode) -> Ty {
        let Some(value) = node.inner.first() else {
            return Ty::Other;
        };
        let Some(returned) = self.returned else {
            self.visit(value, Want::Any);
            return Ty::Other;
        };
        let format = self.format(returned);
        let have = self.visit(value, format.into());
        self.def(returned, have);
        if vector(&value.plain).is_some() {
            self.convert(value, node, have, format);
        }
        Ty::Other
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
        wider(x, y).unwrap_or(x)
    }

    pub(super) fn explicit(&mut self, node: &'a AstNode, want: Want) -> Ty {
        let Some(inner) = node.inner.last() else {
            return self.natural(node);
        };
        let have = self.visit(inner, Want::Any);
        let any = flexible(node) || have == Ty::Flex;
        match (scalar(&node.plain), self.edits.is_some()) {
            (None, _) => Ty::Other,
            (Some(Format::F64), false) if any => Ty::Flex,
            (Some(Format::F64), true) if want == Want::F32 && self.cast_type(node) => Ty::F32,
            (Some(Format::F64), _) => Ty::F64,
            (Some(_), _) => Ty::F32,
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
        if self.model.things[e].vector {
            self.assign_to(init, n, e);
        } else if strip(init).kind == "InitListExpr" {
            self.list(strip(init), e, want);
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
