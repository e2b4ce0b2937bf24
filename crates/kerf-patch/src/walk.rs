//! One walk over the expressions of the kernels: which format each has in C++ once the declarations have theirs.
//!
//! The same walk does two things. While formats are sought it tells what is assigned to each class and what each use
//! of it wants. Once they are found it writes the edits: suffixes, casts, other functions.
mod calls;
mod division;
mod places;
mod statements;
mod stored;

use crate::ast::{AstNode, Spot, Via, strip};
use crate::edits::{Clash, Edits};
use crate::marks::{Marks, SourceMark};
use crate::math::{self, Spelling};
use crate::model::{DeclarationModel, Entity, Formats, is_stored_only};
use crate::source::SourceFile;
use crate::types::{scalar, vector};
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
pub struct ExpressionWalk<'w, 'a> {
    /// Declarations.
    pub model: &'w DeclarationModel<'a>,
    /// What the plan wants.
    pub marks: &'w Marks,
    /// Classes that are not as in the source, and their formats.
    pub narrow: &'w Formats,
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
fn agreed(all: &[&SourceMark]) -> Option<Format> {
    let wide = all.iter().any(|m| m.to == Format::F64);
    (!all.is_empty()).then_some(if wide { Format::F64 } else { Format::F32 })
}

fn is_arithmetic(op: &str) -> bool {
    matches!(
        op,
        "fadd" | "fsub" | "fmul" | "fdiv" | "fma" | "fneg" | "frem"
    )
}

impl<'w, 'a> ExpressionWalk<'w, 'a> {
    /// Over all functions that the kernels reach.
    pub fn new(
        model: &'w DeclarationModel<'a>,
        marks: &'w Marks,
        narrow: &'w Formats,
        cl: bool,
        edit: bool,
    ) -> ExpressionWalk<'w, 'a> {
        ExpressionWalk {
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

    fn function(&mut self, f: &'a AstNode) {
        let before = std::mem::replace(&mut self.gives, self.model.return_of(f));
        if let Some(b) = f.body() {
            self.visit(b, Want::Any);
        }
        self.gives = before;
    }

    /// Format of an entity as things stand.
    pub fn format(&self, e: Entity) -> Format {
        let new = self.narrow.get(&self.model.class(e)).copied();
        new.unwrap_or(self.model.things[e].own)
    }

    fn natural(&self, n: &AstNode) -> Ty {
        match scalar(&n.plain).or(vector(&n.plain).map(|v| v.0)) {
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

    fn source(&self, file: usize) -> Option<&'w SourceFile> {
        self.model.sources.get(&file)
    }

    fn say(&mut self, n: &AstNode, why: &str) {
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

    /// An expression whose place wants something; its format in C++.
    pub fn visit(&mut self, n: &'a AstNode, want: Want) -> Ty {
        match n.kind.as_str() {
            "ImplicitCastExpr" => self.implicit(n, want),
            "ParenExpr"
            | "ExprWithCleanups"
            | "MaterializeTemporaryExpr"
            | "CXXBindTemporaryExpr"
            | "ConstantExpr"
            | "SubstNonTypeTemplateParmExpr" => match n.inner.last() {
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
            "CXXOperatorCallExpr" | "CXXMemberCallExpr" if self.model.called(n).is_some() => {
                self.call(n, want)
            }
            "CXXOperatorCallExpr" if vector(&n.plain).is_some() => self.assign_vector(n),
            "CXXConstructExpr" if vector(&n.plain).is_some() && n.inner.len() == 1 => {
                self.visit(&n.inner[0], want)
            }
            "InitListExpr" if vector(&n.plain).is_some() => self.elements(n, want),
            "CStyleCastExpr" | "CXXFunctionalCastExpr" | "CXXStaticCastExpr" => {
                self.explicit(n, want)
            }
            "VarDecl" => self.variable(n),
            "ReturnStmt" => {
                if let Some(v) = n.inner.first() {
                    let wanted = self.gives.map_or(Want::Any, |g| self.format(g).into());
                    let t = self.visit(v, wanted);
                    if let Some(g) = self.gives {
                        self.def(g, t);
                        if vector(&v.plain).is_some() {
                            self.convert(v, n, t, self.format(g));
                        }
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

    fn implicit(&mut self, n: &'a AstNode, want: Want) -> Ty {
        let Some(c) = n.inner.last() else {
            return self.natural(n);
        };
        match n.cast.as_str() {
            "IntegralToFloating" => {
                self.visit(c, Want::Any);
                Ty::Flex
            }
            "LValueToRValue" | "NoOp" | "FloatingCast" | "ArrayToPointerDecay" => {
                self.visit(c, want)
            }
            _ => {
                self.visit(c, Want::Any);
                self.natural(n)
            }
        }
    }

    /// Something that is in memory or in a variable.
    fn place(&mut self, n: &'a AstNode, want: Want) -> Ty {
        self.indices(n);
        let is_vector = vector(&n.plain).is_some();
        if scalar(&n.plain).is_none() && !is_vector {
            return Ty::Other;
        }
        match self.model.memory(n) {
            Some(e) if is_vector => {
                self.used(e, want);
                ty(self.format(e))
            }
            Some(e) => {
                self.used(e, want);
                self.read(n, e)
            }
            None => self.natural(n),
        }
    }

    /// What is computed on the way to a place.
    fn indices(&mut self, n: &'a AstNode) {
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

    fn unary(&mut self, n: &'a AstNode, want: Want) -> Ty {
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
    fn wanted(&self, n: &AstNode, marks: &[SourceMark], compares: bool) -> Option<Format> {
        let mine: Vec<&SourceMark> = marks
            .iter()
            .filter(|m| match compares {
                true => m.op == "fcmp",
                false => is_arithmetic(&m.op),
            })
            .filter(|m| m.from == Format::F64 || scalar(&n.plain) == Some(Format::F32))
            .collect();
        agreed(&mine)
    }

    fn binary(&mut self, n: &'a AstNode, want: Want) -> Ty {
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
                self.store(r, n, e, t);
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

    fn indices_of(&mut self, l: &'a AstNode) {
        let s = strip(l);
        match s.kind.as_str() {
            "DeclRefExpr" => {}
            _ => self.indices(s),
        }
    }

    /// Both operands as an operation in a format wants them; its format.
    fn operands(
        &mut self,
        n: &'a AstNode,
        l: &'a AstNode,
        r: &'a AstNode,
        want: Want,
        known: bool,
    ) -> Ty {
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

    fn arithmetic(&mut self, n: &'a AstNode, l: &'a AstNode, r: &'a AstNode, want: Want) -> Ty {
        let (written, shown) = self.operator(n);
        let marks = self.marks_at(shown);
        let wanted = self.wanted(n, marks, false);
        let seeking = self.edits.is_none();
        if scalar(&n.plain) == Some(Format::F32) {
            self.visit(l, Want::F32);
            self.visit(r, Want::F32);
            if marks.iter().any(|m| m.half) {
                self.say(n, "computed in f32, the plan has 16 bits");
            }
            self.divide(n, l, r, marks, written, Format::F32);
            return Ty::F32;
        }
        let Some(w) = wanted else {
            // The compiler made it part of another operation, or removed it.
            let t = self.operands(n, l, r, want, false);
            return if seeking { Ty::Flex } else { t };
        };
        let t = self.operands(n, l, r, w.into(), true);
        if let Some(m) = marks.iter().find(|m| m.half) {
            self.say(n, &format!("computed in {}, the plan has 16 bits", m.to));
        }
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
}

/// Is an expression a number that can be written in any format?
fn flexible(n: &AstNode) -> bool {
    let s = strip(n);
    match s.kind.as_str() {
        "FloatingLiteral" | "IntegerLiteral" => true,
        "UnaryOperator" if matches!(s.opcode.as_str(), "-" | "+") => {
            s.inner.first().is_some_and(flexible)
        }
        "CStyleCastExpr" | "CXXFunctionalCastExpr" | "CXXStaticCastExpr" => {
            let from = s.inner.last();
            from.is_some_and(|c| flexible(c) || scalar(&strip(c).plain).is_none())
        }
        _ => scalar(&s.plain).is_none(),
    }
}
