//! Numbers that are only stored in a format, f16 or bf16, and vectors: what is read, written and put together.
use super::*;

impl<'w, 'a> ExpressionWalk<'w, 'a> {
    /// Functions from and to a format that numbers are only stored in.
    fn conversion(f: Format, from: Ty) -> (&'static str, &'static str) {
        match (f, from) {
            (Format::Bf16, Ty::F64) => ("__bfloat162float(", "__double2bfloat16("),
            (Format::Bf16, _) => ("__bfloat162float(", "__float2bfloat16("),
            (_, Ty::F64) => ("__half2float(", "__double2half("),
            _ => ("__half2float(", "__float2half("),
        }
    }

    fn wrap(&mut self, n: &'a AstNode, open: &str) {
        if self.edits.is_none() {
            return;
        }
        let Some((file, from, to)) = self.extent(n) else {
            self.say(n, "it is in the body of a macro");
            return;
        };
        let rank = 2 * (to - from);
        self.edit(n, |e| {
            e.before(file, from, rank, open)?;
            e.after(file, to, rank, ")")
        });
    }

    /// The value of something in memory.
    pub(super) fn read(&mut self, n: &'a AstNode, e: Entity) -> Ty {
        let f = self.format(e);
        if is_stored_only(f) {
            self.wrap(n, Self::conversion(f, Ty::F32).0);
        }
        ty(f)
    }

    /// The value `r` that is written to something.
    pub(super) fn store(&mut self, r: &'a AstNode, outer: &'a AstNode, e: Entity, t: Ty) {
        let f = self.format(e);
        if !is_stored_only(f) || self.edits.is_none() {
            return;
        }
        if self.inside_macro(r, outer) {
            self.say(outer, "it is in the body of a macro");
            return;
        }
        let Some((file, from, to)) = self.extent(r) else {
            self.say(outer, "it is in the body of a macro");
            return;
        };
        // Outside of casts, which have odd ranks.
        let rank = 2 * (to - from) + 2;
        self.edit(r, |e| {
            e.before(file, from, rank, Self::conversion(f, t).1)?;
            e.after(file, to, rank, ")")
        });
    }

    /// `a += b` where `a` is only stored in its format: `a = to(from(a) + (b))`.
    pub(super) fn update(
        &mut self,
        n: &'a AstNode,
        l: &'a AstNode,
        r: &'a AstNode,
        e: Entity,
        t: Ty,
    ) {
        let f = self.format(e);
        if self.edits.is_none() {
            return;
        }
        let (written, _) = self.operator(n);
        let pure = !matches!(strip(l).kind.as_str(), "CallExpr");
        let (Some(op), Some(a), Some(b), true) = (written, self.extent(l), self.extent(r), pure)
        else {
            self.say(n, "it is in the body of a macro");
            return;
        };
        let Some(s) = self.source(a.0) else { return };
        let (read, write) = Self::conversion(f, t);
        let sign = n.opcode.trim_end_matches('=');
        let new = format!("= {write}{read}{}) {sign} (", s.slice(a.1, a.2));
        let rank = 2 * (b.2 - b.1) + 2;
        self.edit(n, |e| {
            e.replace(a.0, op, b.1, &new)?;
            e.after(a.0, b.2, rank, "))")
        });
    }

    /// A vector in the format of where it goes: `kerf_float2(v)`.
    pub(super) fn convert(
        &mut self,
        n: &'a AstNode,
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
        let name = vector(&n.plain).and_then(|v| math::conversion(v.1, want));
        let (Some(name), false) = (name, self.inside_macro(n, outer)) else {
            self.say(outer, "it is in the body of a macro");
            return have;
        };
        self.wrap(n, &format!("{name}("));
        self.helpers.insert(name);
        to
    }

    /// A vector that becomes the value of a declaration.
    pub(super) fn give(&mut self, value: &'a AstNode, outer: &'a AstNode, e: Entity) {
        let f = self.format(e);
        // `double2 v;` has no value yet.
        if value.kind == "CXXConstructExpr" && value.inner.is_empty() {
            return;
        }
        let t = self.visit(value, f.into());
        self.def(e, t);
        self.convert(value, outer, t, f);
    }

    /// `v = w` of vectors.
    pub(super) fn assign_vector(&mut self, n: &'a AstNode) -> Ty {
        let [_, l, r] = n.inner.as_slice() else {
            n.inner.iter().for_each(|c| {
                self.visit(c, Want::Any);
            });
            return Ty::Other;
        };
        self.indices_of(l);
        match self.model.memory(l) {
            Some(e) => {
                self.give(r, n, e);
                ty(self.format(e))
            }
            None => {
                self.natural_vector(r, n);
                Ty::Other
            }
        }
    }

    /// A vector that goes where its type is known and stays.
    pub(super) fn natural_vector(&mut self, n: &'a AstNode, outer: &AstNode) {
        if let Some((own, _)) = vector(&n.plain) {
            let t = self.visit(n, own.into());
            self.convert(n, outer, t, own);
        }
    }

    /// What a vector of some numbers is computed in.
    fn together(all: &[Ty]) -> Ty {
        match (all.contains(&Ty::F64), all.contains(&Ty::F32)) {
            (true, _) => Ty::F64,
            (_, true) => Ty::F32,
            _ => Ty::Flex,
        }
    }

    /// `{a, b}` as a vector.
    pub(super) fn elements(&mut self, n: &'a AstNode, want: Want) -> Ty {
        let mut all = Vec::new();
        for c in &n.inner {
            let t = self.visit(c, want);
            all.push(t);
            // Braces let no number be narrowed.
            if scalar(&c.plain).is_some() && want == Want::F32 {
                self.coerce(c, n, t, want);
            }
        }
        match (self.edits.is_some(), want) {
            (true, Want::F32) => Ty::F32,
            (true, _) => Ty::F64,
            _ => Self::together(&all),
        }
    }

    /// `make_double2(a, b)` in the format of what it becomes.
    pub(super) fn make(&mut self, callee: &'a AstNode, args: &'a [AstNode], want: Want) -> Ty {
        let all: Vec<Ty> = args.iter().map(|a| self.visit(a, want)).collect();
        let name = &callee.refers_name;
        match (self.edits.is_some(), want) {
            (false, _) => return Self::together(&all),
            (true, Want::F32) => {}
            (true, _) => return Ty::F64,
        }
        let new = name.replace("make_double", "make_float");
        let new = new.trim_end_matches("_16a").trim_end_matches("_32a");
        let Some(b) = callee.begin else {
            return Ty::F64;
        };
        let there = self
            .source(b.file)
            .is_some_and(|s| s.at(b) == name.as_str());
        if !there || b.via == Via::Macro {
            self.say(callee, "the function's name is in the body of a macro");
            return Ty::F64;
        }
        match self.edit(callee, |e| e.replace(b.file, b.offset, b.after(), new)) {
            true => Ty::F32,
            false => Ty::F64,
        }
    }
}
