//! Numbers that are only stored in a format, f16 or bf16, and vectors: how they are read, written and made.
use super::*;

/// Functions from and to a format that numbers are only stored in.
fn conversion(stored: Format, from: Ty) -> (&'static str, &'static str) {
    match (stored, from) {
        (Format::Bf16, Ty::F64) => ("__bfloat162float(", "__double2bfloat16("),
        (Format::Bf16, _) => ("__bfloat162float(", "__float2bfloat16("),
        (_, Ty::F64) => ("__half2float(", "__double2half("),
        _ => ("__half2float(", "__float2half("),
    }
}

/// Format of a vector made of some numbers.
fn vector_format(elements: &[Ty]) -> Ty {
    match (elements.contains(&Ty::F64), elements.contains(&Ty::F32)) {
        (true, _) => Ty::F64,
        (_, true) => Ty::F32,
        _ => Ty::Flex,
    }
}

impl<'w, 'a> ExpressionWalk<'w, 'a> {
    fn wrap(&mut self, node: &'a AstNode, open: &str) {
        if self.edits.is_none() {
            return;
        }
        match self.extent(node) {
            Some(range) => {
                self.edit(node, |e| e.wrap(range, 2 * range.len(), open, ")"));
            }
            None => self.say(node, IN_MACRO),
        }
    }

    /// The value of something in memory.
    pub(super) fn read(&mut self, node: &'a AstNode, entity: Entity) -> Ty {
        let format = self.format(entity);
        if is_stored_only(format) {
            self.wrap(node, conversion(format, Ty::F32).0);
        }
        ty(format)
    }

    /// Converts a value that is written to something that is only stored in its format.
    pub(super) fn store(&mut self, value: &'a AstNode, outer: &AstNode, entity: Entity, have: Ty) {
        let format = self.format(entity);
        if !is_stored_only(format) || self.edits.is_none() {
            return;
        }
        if let Some(range) = self.editable(value, outer) {
            // Outside of casts, which have odd ranks.
            let rank = 2 * range.len() + 2;
            self.edit(value, |e| {
                e.wrap(range, rank, conversion(format, have).1, ")")
            });
        }
    }

    /// `a += b` where `a` is only stored in its format: `a = to(from(a) + (b))`.
    pub(super) fn update(&mut self, update: BinaryExpression<'a>, entity: Entity, have: Ty) {
        if self.edits.is_none() {
            return;
        }
        if strip(update.left).kind == "CallExpr" {
            self.say(update.node, IN_MACRO);
            return;
        }
        let (read, write) = conversion(self.format(entity), have);
        let sign = update.node.opcode.trim_end_matches('=');
        self.assign_call(update, |target| {
            (format!("{write}{read}{target}) {sign} ("), "))")
        });
    }

    /// Rewrites `a op= b` as `a = <open>b<close>`; `call` gives both from the text of `a`.
    pub(super) fn assign_call(
        &mut self,
        assignment: BinaryExpression<'a>,
        call: impl FnOnce(&str) -> (String, &'static str),
    ) -> bool {
        let BinaryExpression { node, left, right } = assignment;
        let (Some(from), Some(target), Some(value)) =
            (self.operator(node).0, self.extent(left), self.extent(right))
        else {
            self.say(node, IN_MACRO);
            return false;
        };
        let Some(source) = self.source(target.file) else {
            return false;
        };
        let (open, close) = call(source.slice(target.from, target.to));
        let operator = TextRange {
            from,
            to: value.from,
            ..target
        };
        self.edit(node, |e| {
            e.replace(operator, &format!("= {open}"))?;
            e.after(target.file, value.to, 2 * value.len() + 2, close)
        })
    }

    /// A vector in the format of its destination: `kerf_float2(v)`.
    pub(super) fn convert(
        &mut self,
        node: &'a AstNode,
        outer: &AstNode,
        have: Ty,
        want: Format,
    ) -> Ty {
        let to = match (have, want) {
            (Ty::F64, Format::F32) => Ty::F32,
            (Ty::F32, Format::F64) => Ty::F64,
            _ => return have,
        };
        if self.edits.is_none() {
            return to;
        }
        let name = vector(&node.plain).and_then(|v| math::conversion(v.1, want));
        let (Some(name), false) = (name, self.inside_macro(node, outer)) else {
            self.say(outer, IN_MACRO);
            return have;
        };
        self.wrap(node, &format!("{name}("));
        self.helpers.insert(name);
        to
    }

    /// A vector that becomes the value of a declaration.
    pub(super) fn assign_to(&mut self, value: &'a AstNode, outer: &'a AstNode, entity: Entity) {
        // `double2 v;` has no value yet.
        if value.kind == "CXXConstructExpr" && value.inner.is_empty() {
            return;
        }
        let format = self.format(entity);
        let have = self.visit(value, format.into());
        self.def(entity, have);
        self.convert(value, outer, have, format);
    }

    /// `v = w` of vectors.
    pub(super) fn assign_vector(&mut self, node: &'a AstNode) -> Ty {
        let [_, left, right] = node.inner.as_slice() else {
            self.visit_all(&node.inner);
            return Ty::Other;
        };
        self.indices_of(left);
        match self.model.memory(left) {
            Some(entity) => {
                self.assign_to(right, node, entity);
                ty(self.format(entity))
            }
            None => {
                self.natural_vector(right, node);
                Ty::Other
            }
        }
    }

    /// A vector whose destination has a type that is known and stays.
    pub(super) fn natural_vector(&mut self, node: &'a AstNode, outer: &AstNode) {
        if let Some((own, _)) = vector(&node.plain) {
            let have = self.visit(node, own.into());
            self.convert(node, outer, have, own);
        }
    }

    /// `{a, b}` as a vector.
    pub(super) fn elements(&mut self, node: &'a AstNode, want: Want) -> Ty {
        let mut formats = Vec::new();
        for element in &node.inner {
            let have = self.visit(element, want);
            formats.push(have);
            // Braces let no number be narrowed.
            if scalar(&element.plain).is_some() && want == Want::F32 {
                self.coerce(element, node, have, want);
            }
        }
        match (self.edits.is_some(), want) {
            (true, Want::F32) => Ty::F32,
            (true, _) => Ty::F64,
            _ => vector_format(&formats),
        }
    }

    /// `make_double2(a, b)` in the format of its destination.
    pub(super) fn make(&mut self, callee: &'a AstNode, args: &'a [AstNode], want: Want) -> Ty {
        let formats: Vec<Ty> = args.iter().map(|a| self.visit(a, want)).collect();
        match (self.edits.is_some(), want) {
            (false, _) => return vector_format(&formats),
            (true, Want::F32) => {}
            (true, _) => return Ty::F64,
        }
        let new = callee.refers_name.replace("make_double", "make_float");
        let new = new.trim_end_matches("_16a").trim_end_matches("_32a");
        match self.rename(callee, callee, new) {
            true => Ty::F32,
            false => Ty::F64,
        }
    }

    /// Calls another function by its name; says of `call` where the name is not written there.
    pub(super) fn rename(&mut self, call: &AstNode, callee: &AstNode, new: &str) -> bool {
        let Some(name) = callee.begin else {
            return false;
        };
        let source = self.source(name.file);
        let written = source.is_some_and(|s| s.at(name) == callee.refers_name);
        if !written || name.via == Via::Macro {
            self.say(call, NAME_IN_MACRO);
            return false;
        }
        self.edit(call, |e| e.replace(name.range(), new))
    }
}
