//! One walk over the expressions of the kernels: which format each has in C++ once the declarations have theirs.
//!
//! The same walk does two things. While formats are sought it tells what is assigned to each class and what each use
//! of it wants. Once they are found it writes the edits: suffixes, casts, other functions.
use crate::ast::{Node, Spot, Via};
use crate::edits::{Clash, Edits};
use crate::marks::{Mark, Marks};
use crate::math::{self, Spelling};
use crate::model::{Entity, Model, scalar, strip};
use crate::source::Source;
use kerf_num::Format;
use kerf_pass::MathVariant;
use std::collections::{BTreeMap, BTreeSet};

/// Format of an expression's value in C++.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ty {
    /// double.
    F64,
    /// float.
    F32,
    /// A literal or an integer, which is whatever it is used as; or arithmetic that no operation is known of.
    Flex,
    /// No floating-point number.
    Other,
}

/// What the place of an expression wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// f64.
    F64,
    /// f32.
    F32,
    /// Nothing is known.
    Any,
}

impl From<Format> for Want {
    fn from(f: Format) -> Want {
        match f {
            Format::F64 => Want::F64,
            _ => Want::F32,
        }
    }
}

fn ty(f: Format) -> Ty {
    match f {
        Format::F64 => Ty::F64,
        _ => Ty::F32,
    }
}

/// A place where the plan asks for something that source does not say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unsaid {
    /// File.
    pub file: usize,
    /// Line.
    pub line: u32,
    /// Why.
    pub why: String,
}

/// The walk.
pub struct Walk<'w, 'a> {
    /// Declarations.
    pub model: &'w Model<'a>,
    /// What the plan wants.
    pub marks: &'w Marks,
    /// Classes that are in f32.
    pub narrow: &'w BTreeSet<Entity>,
    /// OpenCL C?
    pub cl: bool,
    /// What is assigned to each class.
    pub defs: BTreeMap<Entity, Vec<Ty>>,
    /// What uses of each class want.
    pub uses: BTreeMap<Entity, Vec<Want>>,
    /// The edits, once formats are known.
    pub edits: Option<Edits>,
    /// Functions that the edits call and the source does not have, by file.
    pub helpers: BTreeSet<&'static str>,
    /// What cannot be said.
    pub unsaid: BTreeSet<Unsaid>,
    /// Class of what the function at hand gives.
    gives: Option<Entity>,
}

/// The format that all operations agree on: the wider one where they do not.
fn agreed(all: &[&Mark]) -> Option<Format> {
    let wide = all.iter().any(|m| m.to == Format::F64);
    (!all.is_empty()).then_some(if wide { Format::F64 } else { Format::F32 })
}

fn is_arithmetic(op: &str) -> bool {
    matches!(op, "fadd" | "fsub" | "fmul" | "fdiv" | "fma" | "fneg" | "frem")
}

impl<'w, 'a> Walk<'w, 'a> {
    /// Over all functions that the kernels reach.
    pub fn new(model: &'w Model<'a>, marks: &'w Marks, narrow: &'w BTreeSet<Entity>, cl: bool, edit: bool) -> Walk<'w, 'a> {
        Walk {
            model,
            marks,
            narrow,
            cl,
            defs: BTreeMap::new(),
            uses: BTreeMap::new(),
            edits: edit.then(Edits::default),
            helpers: BTreeSet::new(),
            unsaid: BTreeSet::new(),
            gives: None,
        }
    }

    /// Walks.
    pub fn run(&mut self) {
        for f in self.model.functions.clone() {
            self.function(f);
        }
    }

    fn function(&mut self, f: &'a Node) {
        let before = std::mem::replace(&mut self.gives, self.model.return_of(f));
        if let Some(b) = f.body() {
            self.visit(b, Want::Any);
        }
        self.gives = before;
    }

    /// Format of an entity as things stand.
    pub fn format(&self, e: Entity) -> Format {
        let own = self.model.things[e].own;
        match self.narrow.contains(&self.model.class(e)) {
            true if own == Format::F64 => Format::F32,
            _ => own,
        }
    }

    fn natural(&self, n: &Node) -> Ty {
        match scalar(&n.plain) {
            Some(f) => ty(f),
            None => Ty::Other,
        }
    }

    fn def(&mut self, e: Entity, t: Ty) {
        self.defs.entry(self.model.class(e)).or_default().push(t);
    }

    fn used(&mut self, e: Entity, w: Want) {
        self.uses.entry(self.model.class(e)).or_default().push(w);
    }

    fn source(&self, file: usize) -> Option<&'w Source> {
        self.model.sources.get(&file)
    }

    fn say(&mut self, n: &Node, why: &str) {
        if self.edits.is_none() {
            return;
        }
        if let Some(b) = n.begin
            && let Some(s) = self.source(b.file)
        {
            let line = s.position(b.shown).0;
            self.unsaid.insert(Unsaid {
                file: b.file,
                line,
                why: why.to_owned(),
            });
        }
    }

    // --- places

    /// Bytes of an expression as the file has them; none where a part of it is in a macro.
    fn extent(&self, n: &Node) -> Option<(usize, usize, usize)> {
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
    fn inside_macro(&self, n: &Node, outer: &Node) -> bool {
        let (Some(b), Some(o)) = (n.begin, outer.begin) else {
            return true;
        };
        let (Some(e), Some(oe)) = (n.end, outer.end) else {
            return true;
        };
        let body = b.via == Via::Macro || e.via == Via::Macro;
        let same = |s: Spot, t: Spot| s.via == Via::Macro && t.via == Via::Macro && s.shown == t.shown;
        body && (same(b, o) && same(e, oe))
    }

    /// Where the operator of a binary expression is written, and where debug info says it is.
    fn operator(&self, n: &Node) -> (Option<usize>, Option<(usize, usize)>) {
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

    fn between(&self, l: &Node, r: &Node, opcode: &str) -> Option<usize> {
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

    fn marks_at(&self, at: Option<(usize, usize)>) -> &'w [Mark] {
        let Some((file, offset)) = at else { return &[] };
        let Some(s) = self.source(file) else { return &[] };
        self.marks.at(file, s.position(offset))
    }

    // --- edits

    fn edit(&mut self, n: &Node, f: impl FnOnce(&mut Edits) -> Result<(), Clash>) -> bool {
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
    fn cast(&mut self, n: &'a Node, outer: &Node, to: &str) -> bool {
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
    fn coerce(&mut self, n: &'a Node, outer: &Node, have: Ty, want: Want) -> Ty {
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

    fn literal(&mut self, n: &'a Node, want: Want) -> Ty {
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

    // --- expressions

    /// An expression whose place wants something; its format in C++.
    pub fn visit(&mut self, n: &'a Node, want: Want) -> Ty {
        match n.kind.as_str() {
            "ImplicitCastExpr" => self.implicit(n, want),
            "ParenExpr" | "ExprWithCleanups" | "MaterializeTemporaryExpr" | "CXXBindTemporaryExpr"
            | "ConstantExpr" | "SubstNonTypeTemplateParmExpr" => match n.inner.last() {
                Some(c) => self.visit(c, want),
                None => self.natural(n),
            },
            "FloatingLiteral" => self.literal(n, want),
            "IntegerLiteral" => Ty::Flex,
            "DeclRefExpr" | "MemberExpr" | "ArraySubscriptExpr" => self.place(n, want),
            "UnaryOperator" => self.unary(n, want),
            "BinaryOperator" => self.binary(n, want),
            "CompoundAssignOperator" => self.compound(n),
            "ConditionalOperator" => self.conditional(n, want),
            "CallExpr" => self.call(n, want),
            "CStyleCastExpr" | "CXXFunctionalCastExpr" | "CXXStaticCastExpr" => self.explicit(n, want),
            "VarDecl" => self.variable(n),
            "ReturnStmt" => {
                if let Some(v) = n.inner.first() {
                    let wanted = self.gives.map_or(Want::Any, |g| self.format(g).into());
                    let t = self.visit(v, wanted);
                    if let Some(g) = self.gives {
                        self.def(g, t);
                    }
                }
                Ty::Other
            }
            "LambdaExpr" => {
                let record = n.inner.iter().find(|c| c.kind == "CXXRecordDecl");
                let body = record.and_then(|r| r.inner.iter().find(|m| m.name == "operator()"));
                if let Some(f) = body {
                    self.function(f);
                }
                Ty::Other
            }
            _ => {
                for c in &n.inner {
                    self.visit(c, Want::Any);
                }
                self.natural(n)
            }
        }
    }

    fn implicit(&mut self, n: &'a Node, want: Want) -> Ty {
        let Some(c) = n.inner.last() else {
            return self.natural(n);
        };
        match n.cast.as_str() {
            "IntegralToFloating" => {
                self.visit(c, Want::Any);
                Ty::Flex
            }
            "LValueToRValue" | "NoOp" | "FloatingCast" | "ArrayToPointerDecay" => self.visit(c, want),
            _ => {
                self.visit(c, Want::Any);
                self.natural(n)
            }
        }
    }

    /// Something that is in memory or in a variable.
    fn place(&mut self, n: &'a Node, want: Want) -> Ty {
        self.indices(n);
        if scalar(&n.plain).is_none() {
            return Ty::Other;
        }
        match self.model.memory(n) {
            Some(e) => {
                self.used(e, want);
                ty(self.format(e))
            }
            None => self.natural(n),
        }
    }

    /// What is computed on the way to a place.
    fn indices(&mut self, n: &'a Node) {
        for c in &n.inner {
            let s = strip(c);
            match s.kind.as_str() {
                "DeclRefExpr" => {}
                "MemberExpr" | "ArraySubscriptExpr" => self.indices(s),
                _ => {
                    self.visit(c, Want::Any);
                }
            }
        }
    }

    fn unary(&mut self, n: &'a Node, want: Want) -> Ty {
        let Some(c) = n.inner.first() else {
            return self.natural(n);
        };
        match n.opcode.as_str() {
            "-" | "+" if scalar(&n.plain).is_some() => self.visit(c, want),
            "*" => self.place(n, want),
            "&" => {
                self.indices(n);
                Ty::Other
            }
            _ => {
                self.visit(c, Want::Any);
                self.natural(n)
            }
        }
    }

    /// The format that the plan wants an operation to have.
    fn wanted(&self, n: &Node, marks: &[Mark], compares: bool) -> Option<Format> {
        let mine: Vec<&Mark> = marks
            .iter()
            .filter(|m| match compares {
                true => m.op == "fcmp",
                false => is_arithmetic(&m.op),
            })
            .filter(|m| m.from == Format::F64 || scalar(&n.plain) == Some(Format::F32))
            .collect();
        agreed(&mine)
    }

    fn binary(&mut self, n: &'a Node, want: Want) -> Ty {
        let [l, r] = n.inner.as_slice() else {
            return self.natural(n);
        };
        match n.opcode.as_str() {
            "=" => {
                let floats = scalar(&l.plain).is_some();
                let e = self.model.memory(l).filter(|_| floats);
                self.indices_of(l);
                let Some(e) = e else {
                    let w = match scalar(&l.plain) {
                        Some(f) => f.into(),
                        None => Want::Any,
                    };
                    self.visit(r, w);
                    return self.natural(n);
                };
                let t = self.visit(r, self.format(e).into());
                self.def(e, t);
                ty(self.format(e))
            }
            "+" | "-" | "*" | "/" if scalar(&n.plain).is_some() => self.arithmetic(n, l, r, want),
            "<" | ">" | "<=" | ">=" | "==" | "!=" if scalar(&l.plain).is_some() => {
                let (_, shown) = self.operator(n);
                let w = self.wanted(n, self.marks_at(shown), true);
                self.operands(n, l, r, w.map_or(Want::Any, Want::from), w.is_some());
                Ty::Other
            }
            "," => {
                self.visit(l, Want::Any);
                self.visit(r, want)
            }
            _ => {
                self.visit(l, Want::Any);
                self.visit(r, Want::Any);
                self.natural(n)
            }
        }
    }

    fn indices_of(&mut self, l: &'a Node) {
        let s = strip(l);
        match s.kind.as_str() {
            "DeclRefExpr" => {}
            _ => self.indices(s),
        }
    }

    /// Both operands as an operation in a format wants them; its format.
    fn operands(&mut self, n: &'a Node, l: &'a Node, r: &'a Node, want: Want, known: bool) -> Ty {
        // A literal takes the format of what it is used with, so it comes last.
        let (first, second) = if flexible(l) { (r, l) } else { (l, r) };
        match want {
            Want::F32 => {
                let a = self.visit(first, Want::F32);
                let a = self.coerce(first, n, a, Want::F32);
                let b = self.visit(second, Want::F32);
                let b = self.coerce(second, n, b, Want::F32);
                match (a, b) {
                    (Ty::F64, _) | (_, Ty::F64) => Ty::F64,
                    _ => Ty::F32,
                }
            }
            Want::F64 => {
                let a = self.visit(first, Want::F64);
                let b = self.visit(second, Want::F64);
                match (a, b) {
                    (Ty::F64, _) | (_, Ty::F64) => Ty::F64,
                    // Both have become f32, and what is done with them shall not.
                    (Ty::F32, _) => self.coerce(first, n, a, Want::F64),
                    (_, Ty::F32) => self.coerce(second, n, b, Want::F64),
                    _ => Ty::Flex,
                }
            }
            Want::Any => {
                let a = self.visit(first, Want::Any);
                let then = match a {
                    Ty::F32 if flexible(second) => Want::F32,
                    _ => Want::Any,
                };
                let b = self.visit(second, then);
                match (a, b) {
                    (Ty::F64, _) | (_, Ty::F64) => Ty::F64,
                    (Ty::F32, _) | (_, Ty::F32) => Ty::F32,
                    _ if known => self.natural(n),
                    _ => Ty::Flex,
                }
            }
        }
    }

    fn arithmetic(&mut self, n: &'a Node, l: &'a Node, r: &'a Node, want: Want) -> Ty {
        let (written, shown) = self.operator(n);
        let marks = self.marks_at(shown);
        let wanted = self.wanted(n, marks, false);
        let seeking = self.edits.is_none();
        if scalar(&n.plain) == Some(Format::F32) {
            self.visit(l, Want::F32);
            self.visit(r, Want::F32);
            self.divide(n, l, r, marks, written, Format::F32);
            return Ty::F32;
        }
        let Some(w) = wanted else {
            // The compiler made it part of another operation, or removed it.
            let t = self.operands(n, l, r, want, false);
            return if seeking { Ty::Flex } else { t };
        };
        let t = self.operands(n, l, r, w.into(), true);
        if t == Ty::F64 && w == Format::F32 && !seeking {
            self.say(n, "an operand stays f64");
        }
        let made = match t {
            Ty::F32 => Format::F32,
            _ => Format::F64,
        };
        self.divide(n, l, r, marks, written, made);
        if seeking { ty(w) } else { t }
    }

    /// A division by another way.
    fn divide(&mut self, n: &'a Node, l: &'a Node, r: &'a Node, marks: &[Mark], written: Option<usize>, format: Format) {
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

    /// `a / b` as `a * (1 / b)`, which compilers take out of loops.
    fn reciprocal(&mut self, n: &'a Node, r: &'a Node, written: Option<usize>, format: Format) {
        let (Some(op), Some((file, from, to))) = (written, self.extent(r)) else {
            self.say(n, "it is in the body of a macro");
            return;
        };
        let one = if format == Format::F32 { "(1.0f / " } else { "(1.0 / " };
        let rank = 2 * (to - from) + 2;
        self.edit(n, |e| {
            e.replace(file, op, op + 1, "*")?;
            e.before(file, from, rank, one)?;
            e.after(file, to, rank, ")")
        });
    }

    fn compound(&mut self, n: &'a Node) -> Ty {
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
        match wanted {
            Some(w) => {
                self.def(e, ty(w));
                self.used(e, w.into());
            }
            None => self.def(e, Ty::Flex),
        }
        ty(have)
    }

    fn conditional(&mut self, n: &'a Node, want: Want) -> Ty {
        let [c, a, b] = n.inner.as_slice() else {
            return self.natural(n);
        };
        self.visit(c, Want::Any);
        if scalar(&n.plain).is_none() {
            self.visit(a, Want::Any);
            self.visit(b, Want::Any);
            return Ty::Other;
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

    fn explicit(&mut self, n: &'a Node, want: Want) -> Ty {
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
            return if flexible(n) || t == Ty::Flex { Ty::Flex } else { Ty::F64 };
        }
        if want != Want::F32 {
            return Ty::F64;
        }
        match self.cast_type(n) {
            true => Ty::F32,
            false => Ty::F64,
        }
    }

    /// The type of a cast becomes float.
    fn cast_type(&mut self, n: &'a Node) -> bool {
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

    fn variable(&mut self, n: &'a Node) -> Ty {
        let init = n.inner.iter().find(|c| !c.kind.ends_with("Attr") && !c.kind.ends_with("Comment"));
        let Some(init) = init else { return Ty::Other };
        let Some(e) = self.model.entity_of(n) else {
            self.visit(init, Want::Any);
            return Ty::Other;
        };
        let want: Want = self.format(e).into();
        let s = strip(init);
        if s.kind == "InitListExpr" {
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

    /// `auto` would become f32 with what it is made from.
    fn deduced(&mut self, n: &'a Node, e: Entity, t: Ty) {
        let wide = self.format(e) == Format::F64;
        if let (Some(_), Ty::F32, true) = (&self.edits, t, wide)
            && let Some((file, token)) = self.model.things[e].types.first().copied()
            && self.source(file).is_some_and(|s| s.word(token) == "auto")
        {
            self.edit(n, |e| e.replace(file, token.from, token.to, "double"));
        }
    }

    fn list(&mut self, n: &'a Node, e: Entity, want: Want) {
        for c in &n.inner {
            if c.kind == "InitListExpr" {
                self.list(c, e, want);
            } else {
                let t = self.visit(c, want);
                self.def(e, t);
                // Braces let no number be narrowed.
                if scalar(&c.plain).is_some() && want == Want::F32 {
                    self.coerce(c, n, t, want);
                }
            }
        }
    }

    fn call(&mut self, n: &'a Node, want: Want) -> Ty {
        let Some((callee, args)) = n.inner.split_first() else {
            return self.natural(n);
        };
        let c = strip(callee);
        let declared = c.refers.and_then(|r| self.model.decls.get(&r)).copied();
        let own = declared.filter(|d| d.is_function()).and_then(|d| self.model.definition(d));
        if let Some(f) = own {
            let params: Vec<&Node> = f.params().collect();
            for (k, a) in args.iter().enumerate() {
                let p = params.get(k).and_then(|p| self.model.entity_of(p));
                match p.filter(|p| self.model.things[*p].scalar) {
                    Some(p) => {
                        let t = self.visit(a, self.format(p).into());
                        self.def(p, t);
                    }
                    None if p.is_some() => self.indices_arg(a),
                    None => {
                        self.visit(a, Want::Any);
                    }
                }
            }
            return match self.model.return_of(f).filter(|_| scalar(&n.plain).is_some()) {
                Some(e) => {
                    self.used(e, want);
                    ty(self.format(e))
                }
                None => self.natural(n),
            };
        }
        let name = c.refers_name.clone();
        if !math::is_known(&name) || scalar(&n.plain).is_none() && !args.iter().any(|a| scalar(&a.plain).is_some()) {
            for a in args {
                self.visit(a, Want::Any);
            }
            return self.natural(n);
        }
        self.math(n, c, args, &name, want)
    }

    fn indices_arg(&mut self, a: &'a Node) {
        let s = strip(a);
        if s.kind != "DeclRefExpr" {
            self.indices(s);
        }
    }

    fn math(&mut self, n: &'a Node, callee: &'a Node, args: &'a [Node], name: &str, want: Want) -> Ty {
        let own = scalar(&n.plain).unwrap_or(Format::F64);
        let shown = n.begin.map(|b| (b.file, b.shown));
        let all = self.marks_at(shown);
        let mine: Vec<&Mark> = all.iter().filter(|m| m.from == own).collect();
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
        if w == Want::F64 && !wide && let Some(a) = first {
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

    fn spell(&mut self, n: &'a Node, callee: &'a Node, name: &str, made: Format, variant: Option<MathVariant>) {
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

/// Through parentheses and what clang put in.
fn n_inside(n: &Node) -> &Node {
    let mut n = n;
    while matches!(n.kind.as_str(), "ImplicitCastExpr" | "ExprWithCleanups" | "MaterializeTemporaryExpr") {
        match n.inner.last() {
            Some(c) => n = c,
            None => break,
        }
    }
    n
}

/// Is an expression a number that can be written in any format?
fn flexible(n: &Node) -> bool {
    let s = strip(n);
    match s.kind.as_str() {
        "FloatingLiteral" | "IntegerLiteral" => true,
        "UnaryOperator" if matches!(s.opcode.as_str(), "-" | "+") => s.inner.first().is_some_and(flexible),
        "CStyleCastExpr" | "CXXFunctionalCastExpr" | "CXXStaticCastExpr" => {
            let from = s.inner.last();
            from.is_some_and(|c| flexible(c) || scalar(&strip(c).plain).is_none())
        }
        _ => scalar(&s.plain).is_none(),
    }
}

/// The place after the parenthesis that closes the one at `open`.
fn closing(s: &Source, open: usize) -> Option<usize> {
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
