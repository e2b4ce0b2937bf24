//! Where expressions are in the text, and the edits there.
use super::*;

impl<'w, 'a> ExpressionWalk<'w, 'a> {
    /// Bytes of an expression as the file has them; none where a part of it is in a macro.
    pub(super) fn extent(&self, node: &AstNode) -> Option<TextRange> {
        let (begin, end) = (node.begin?, node.end?);
        let source = self.source(begin.file)?;
        if begin.file != end.file || begin.offset > end.offset {
            return None;
        }
        let mut to = end.after();
        if end.via == Via::Macro {
            // The call of a macro goes on to its closing parenthesis.
            let next = source.skip_space(to);
            if source.slice(next, next + 1) == "(" && source.at(end) != ")" {
                to = closing(source, next)?;
            }
        }
        Some(TextRange {
            to,
            ..begin.range()
        })
    }

    /// The bytes of an operand of `outer`, where they can be changed; says of `outer` where they cannot.
    pub(super) fn editable(&mut self, node: &AstNode, outer: &AstNode) -> Option<TextRange> {
        let range = self.extent(node);
        let range = range.filter(|_| !self.inside_macro(node, outer));
        if range.is_none() {
            self.say(outer, IN_MACRO);
        }
        range
    }

    /// Is an expression in the body of the macro that `outer` is in too?
    pub(super) fn inside_macro(&self, node: &AstNode, outer: &AstNode) -> bool {
        let same =
            |a: Spot, b: Spot| a.via == Via::Macro && b.via == Via::Macro && a.shown == b.shown;
        let inside = || Some(same(node.begin?, outer.begin?) && same(node.end?, outer.end?));
        inside().unwrap_or(true)
    }

    /// Where the operator of a binary expression is written, and where debug info says it is.
    pub(super) fn operator(&self, node: &AstNode) -> (Option<usize>, Option<(usize, usize)>) {
        let [left, right] = node.inner.as_slice() else {
            return (None, None);
        };
        let (Some(end), Some(begin)) = (left.end, right.begin) else {
            return (None, None);
        };
        let written = self.between(left, right, &node.opcode);
        if end.via != Via::Text && begin.via != Via::Text && end.shown == begin.shown {
            let arguments = end.via == Via::Argument && begin.via == Via::Argument;
            return (written.filter(|_| arguments), Some((end.file, end.shown)));
        }
        (written, written.map(|at| (end.file, at)))
    }

    fn between(&self, left: &AstNode, right: &AstNode, opcode: &str) -> Option<usize> {
        let range = self.extent(left)?;
        let source = self.source(range.file)?;
        let mut at = source.skip_space(range.to);
        let end = right.begin?.offset;
        // Parentheses that belong to neither side are not in the tree's ranges for some nodes.
        while at < end && source.slice(at, at + 1) == ")" {
            at = source.skip_space(at + 1);
        }
        (at < end && source.slice(at, at + opcode.len()) == opcode).then_some(at)
    }

    pub(super) fn marks_at(&self, at: Option<(usize, usize)>) -> &'w [SourceMark] {
        let Some((file, offset)) = at else { return &[] };
        let Some(s) = self.source(file) else {
            return &[];
        };
        self.marks.at(file, s.position(offset))
    }

    /// Makes a change, or none of its parts where it clashes with another one.
    pub(super) fn edit(
        &mut self,
        node: &AstNode,
        change: impl FnOnce(&mut Edits) -> Result<(), Clash>,
    ) -> bool {
        let Some(edits) = self.edits.as_mut() else {
            return true;
        };
        let mut tried = edits.clone();
        let done = change(&mut tried).is_ok();
        match done {
            true => *edits = tried,
            false => self.say(node, CLASH),
        }
        done
    }

    /// Puts a cast in front of an operand of `outer`.
    fn cast(&mut self, node: &'a AstNode, outer: &AstNode, to: &str) -> bool {
        if self.edits.is_none() {
            return true;
        }
        let Some(range) = self.editable(node, outer) else {
            return false;
        };
        let rank = 2 * range.len() + 1;
        let binds_looser = matches!(
            without_casts(node).kind.as_str(),
            "BinaryOperator" | "ConditionalOperator" | "CompoundAssignOperator"
        );
        self.edit(node, |e| match binds_looser {
            true => e.wrap(range, rank, &format!("({to})("), ")"),
            false => e.before(range.file, range.from, rank, &format!("({to})")),
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
        let Some(TextRange { from, to, .. }) = self.extent(n) else {
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
        self.edit(n, |e| e.replace(t.in_file(b.file), "float"))
    }

    /// `auto` would become f32 with what it is made from.
    pub(super) fn deduced(&mut self, n: &'a AstNode, e: Entity, t: Ty) {
        let wide = self.format(e) == Format::F64;
        if let (Some(_), Ty::F32, true) = (&self.edits, t, wide)
            && let Some((file, token)) = self.model.things[e].types.first().copied()
            && self.source(file).is_some_and(|s| s.word(token) == "auto")
        {
            self.edit(n, |e| e.replace(token.in_file(file), "double"));
        }
    }
}

/// The expression below what clang put in.
fn without_casts(n: &AstNode) -> &AstNode {
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
fn closing(s: &SourceFile, open: usize) -> Option<usize> {
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
