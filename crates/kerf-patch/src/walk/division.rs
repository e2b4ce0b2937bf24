//! Divisions that the plan computes in another way.
use super::*;

impl<'w, 'a> ExpressionWalk<'w, 'a> {
    /// A division by another way.
    pub(super) fn divide(
        &mut self,
        n: &'a AstNode,
        l: &'a AstNode,
        r: &'a AstNode,
        marks: &[SourceMark],
        written: Option<usize>,
        format: Format,
    ) {
        if n.opcode != "/" || self.edits.is_none() {
            return;
        }
        let variants: BTreeSet<Option<MathVariant>> = marks
            .iter()
            .filter(|m| m.op == "fdiv")
            .map(|m| m.variant)
            .collect();
        let Some(Some(v)) = variants.first().filter(|_| variants.len() == 1) else {
            if variants.len() > 1 {
                self.say(n, "it is computed in several ways in the plan");
            }
            return;
        };
        if *v == MathVariant::Reciprocal {
            return self.reciprocal(n, r, written, format);
        }
        let Some(name) = math::division(self.cl, format, *v) else {
            self.say(n, &format!("no function divides by {v} in {format}"));
            return;
        };
        let (Some(op), Some((file, from, to))) = (written, self.extent(n)) else {
            self.say(n, "it is in the body of a macro");
            return;
        };
        let (Some(a), Some(b)) = (self.extent(l), self.extent(r)) else {
            self.say(n, "it is in the body of a macro");
            return;
        };
        let rank = 2 * (to - from);
        let open = format!("{name}(");
        let blank = if op > a.2 { a.2 } else { op };
        let ok = self.edit(n, |e| {
            e.before(file, from, rank, &open)?;
            e.replace(file, blank, b.1, ", ")?;
            e.after(file, to, rank, ")")
        });
        if ok && name.starts_with("kerf_") {
            self.helpers.insert(name);
        }
    }

    /// `a /= b` by another way: `a = f(a, b)`.
    pub(super) fn divide_by(
        &mut self,
        n: &'a AstNode,
        l: &'a AstNode,
        r: &'a AstNode,
        marks: &[SourceMark],
        format: Format,
    ) {
        let variants: BTreeSet<Option<MathVariant>> = marks
            .iter()
            .filter(|m| m.op == "fdiv")
            .map(|m| m.variant)
            .collect();
        let Some(Some(v)) = variants
            .first()
            .filter(|_| variants.len() == 1 && self.edits.is_some())
        else {
            return;
        };
        let name = math::division(self.cl, format, *v);
        let place = strip(l);
        let plain = matches!(place.kind.as_str(), "DeclRefExpr" | "MemberExpr");
        let (Some(name), true) = (name, plain) else {
            self.say(n, &format!("this division is not by {v} in source"));
            return;
        };
        let (written, _) = self.operator(n);
        let (Some(op), Some(a), Some(b)) = (written, self.extent(l), self.extent(r)) else {
            self.say(n, "it is in the body of a macro");
            return;
        };
        let Some(s) = self.source(a.0) else { return };
        let new = format!("= {name}({}, ", s.slice(a.1, a.2));
        let rank = 2 * (b.2 - b.1) + 2;
        let ok = self.edit(n, |e| {
            e.replace(a.0, op, b.1, &new)?;
            e.after(a.0, b.2, rank, ")")
        });
        if ok && name.starts_with("kerf_") {
            self.helpers.insert(name);
        }
    }

    /// `a / b` as `a * (1 / b)`, which compilers take out of loops.
    pub(super) fn reciprocal(
        &mut self,
        n: &'a AstNode,
        r: &'a AstNode,
        written: Option<usize>,
        format: Format,
    ) {
        let (Some(op), Some((file, from, to))) = (written, self.extent(r)) else {
            self.say(n, "it is in the body of a macro");
            return;
        };
        let one = if format == Format::F32 {
            "(1.0f / "
        } else {
            "(1.0 / "
        };
        let rank = 2 * (to - from) + 2;
        self.edit(n, |e| {
            e.replace(file, op, op + 1, "*")?;
            e.before(file, from, rank, one)?;
            e.after(file, to, rank, ")")
        });
    }
}
