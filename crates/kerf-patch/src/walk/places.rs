//! Where expressions are in the text, and the edits there.
use super::*;

impl<'w, 'a> ExpressionWalk<'w, 'a> {
    /// Bytes of an expression as the file has them; none where a part of it is in a macro.
    pub(super) fn extent(&self, n: &AstNode) -> Option<(usize, usize, usize)> {
        let (b, e) = (n.begin?, n.end?);
        let s = self.source(b.file)?;
        if b.file != e.file || b.offset > e.offset {
            return None;
        }
        let mut to = e.after();
        if e.via == Via::Macro {
            // The call of a macro goes on to its closing parenthesis.
            let next = s.skip_space(to);
            if s.slice(next, next + 1) == "(" && s.slice(e.offset, to) != ")" {
                to = closing(s, next)?;
            }
        }
        Some((b.file, b.offset, to))
    }

    /// Is an expression, or a part of it, in the body of the macro that `outer` is in too?
    pub(super) fn inside_macro(&self, n: &AstNode, outer: &AstNode) -> bool {
        let (Some(b), Some(o)) = (n.begin, outer.begin) else {
            return true;
        };
        let (Some(e), Some(oe)) = (n.end, outer.end) else {
            return true;
        };
        let body = b.via == Via::Macro || e.via == Via::Macro;
        let same =
            |s: Spot, t: Spot| s.via == Via::Macro && t.via == Via::Macro && s.shown == t.shown;
        body && (same(b, o) && same(e, oe))
    }

    /// Where the operator of a binary expression is written, and where debug info says it is.
    pub(super) fn operator(&self, n: &AstNode) -> (Option<usize>, Option<(usize, usize)>) {
        let [l, r] = n.inner.as_slice() else {
            return (None, None);
        };
        let (Some(le), Some(rb)) = (l.end, r.begin) else {
            return (None, None);
        };
        if le.via != Via::Text && rb.via != Via::Text && le.shown == rb.shown {
            let written = (le.via == Via::Argument && rb.via == Via::Argument)
                .then(|| self.between(l, r, &n.opcode))
                .flatten();
            return (written, Some((le.file, le.shown)));
        }
        let at = self.between(l, r, &n.opcode);
        (at, at.map(|a| (le.file, a)))
    }

    pub(super) fn between(&self, l: &AstNode, r: &AstNode, opcode: &str) -> Option<usize> {
        let (file, _, to) = self.extent(l)?;
        let s = self.source(file)?;
        let mut at = s.skip_space(to);
        let end = r.begin?.offset;
        // Parentheses that belong to neither side are not in the tree's ranges for some nodes.
        while at < end && s.slice(at, at + 1) == ")" {
            at = s.skip_space(at + 1);
        }
        (at < end && s.slice(at, at + opcode.len()) == opcode).then_some(at)
    }

    pub(super) fn marks_at(&self, at: Option<(usize, usize)>) -> &'w [SourceMark] {
        let Some((file, offset)) = at else { return &[] };
        let Some(s) = self.source(file) else {
            return &[];
        };
        self.marks.at(file, s.position(offset))
    }

    pub(super) fn edit(
        &mut self,
        n: &AstNode,
        f: impl FnOnce(&mut Edits) -> Result<(), Clash>,
    ) -> bool {
        let Some(e) = self.edits.as_mut() else {
            return true;
        };
        let mut tried = e.clone();
        match f(&mut tried) {
            Ok(()) => {
                *e = tried;
                true
            }
            Err(_) => {
                self.say(n, "two uses of this text want different things");
                false
            }
        }
    }

    /// Puts a cast in front of an operand of `outer`.
    pub(super) fn cast(&mut self, n: &'a AstNode, outer: &AstNode, to: &str) -> bool {
        if self.edits.is_none() {
            return true;
        }
        if self.inside_macro(n, outer) {
            self.say(outer, "it is in the body of a macro");
            return false;
        }
        let Some((file, from, end)) = self.extent(n) else {
            self.say(outer, "it is in the body of a macro");
            return false;
        };
        let loose = matches!(
            n_inside(n).kind.as_str(),
            "BinaryOperator" | "ConditionalOperator" | "CompoundAssignOperator"
        );
        let (open, close) = if loose { ("(", ")") } else { ("", "") };
        let rank = 2 * (end - from) + 1;
        let open = format!("({to}){open}");
        self.edit(n, |e| {
            e.before(file, from, rank, &open)?;
            match close.is_empty() {
                true => Ok(()),
                false => e.after(file, end, rank, close),
            }
        })
    }

    /// Makes an operand a format that it does not have.
    pub(super) fn coerce(&mut self, n: &'a AstNode, outer: &AstNode, have: Ty, want: Want) -> Ty {
        match (have, want) {
            (Ty::F64, Want::F32) => match self.cast(n, outer, "float") {
                true => Ty::F32,
                false => Ty::F64,
            },
            (Ty::F32, Want::F64) => match self.cast(n, outer, "double") {
                true => Ty::F64,
                false => Ty::F32,
            },
            (t, _) => t,
        }
    }

    pub(super) fn literal(&mut self, n: &'a AstNode, want: Want) -> Ty {
        if self.natural(n) == Ty::F32 {
            return Ty::F32;
        }
        let Some(_) = self.edits else { return Ty::Flex };
        if want != Want::F32 {
            return if want == Want::F64 { Ty::F64 } else { Ty::Flex };
        }
        let Some(b) = n.begin else { return Ty::F64 };
        let Some(s) = self.source(b.file) else {
            return Ty::F64;
        };
        let text = s.at(b).to_owned();
        let number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let done = if b.via == Via::Macro || !number {
            // A macro that is nothing but the literal.
            let rank = 2 * b.len + 1;
            self.edit(n, |e| e.before(b.file, b.offset, rank, "(float)"))
        } else if text.ends_with(['l', 'L']) {
            false
        } else {
            self.edit(n, |e| e.after(b.file, b.after(), 0, "f"))
        };
        if done { Ty::F32 } else { Ty::F64 }
    }

    /// The type of a cast becomes float.
    pub(super) fn cast_type(&mut self, n: &'a AstNode) -> bool {
        let Some(b) = n.begin else { return false };
        let Some(s) = self.source(b.file) else {
            return false;
        };
        let Some((file, from, to)) = self.extent(n) else {
            return false;
        };
        let from = match n.kind.as_str() {
            "CXXFunctionalCastExpr" => from,
            _ => match s.text[from..to].find(['(', '<']) {
                Some(k) => from + k + 1,
                None => return false,
            },
        };
        let Some(t) = crate::source::type_token(s, from, to) else {
            return false;
        };
        self.edit(n, |e| e.replace(file, t.from, t.to, "float"))
    }

    /// `auto` would become f32 with what it is made from.
    pub(super) fn deduced(&mut self, n: &'a AstNode, e: Entity, t: Ty) {
        let wide = self.format(e) == Format::F64;
        if let (Some(_), Ty::F32, true) = (&self.edits, t, wide)
            && let Some((file, token)) = self.model.things[e].types.first().copied()
            && self.source(file).is_some_and(|s| s.word(token) == "auto")
        {
            self.edit(n, |e| e.replace(file, token.from, token.to, "double"));
        }
    }
}

/// Through parentheses and what clang put in.
pub(super) fn n_inside(n: &AstNode) -> &AstNode {
    let mut n = n;
    while matches!(
        n.kind.as_str(),
        "ImplicitCastExpr" | "ExprWithCleanups" | "MaterializeTemporaryExpr"
    ) {
        match n.inner.last() {
            Some(c) => n = c,
            None => break,
        }
    }
    n
}

/// The place after the parenthesis that closes the one at `open`.
pub(super) fn closing(s: &SourceFile, open: usize) -> Option<usize> {
    let mut depth = 0;
    let mut at = open;
    while let Some(t) = s.token(at, s.text.len()) {
        at = t.to;
        match s.word(t) {
            "(" => depth += 1,
            ")" if depth == 1 => return Some(t.to),
            ")" => depth -= 1,
            _ => {}
        }
    }
    None
}
