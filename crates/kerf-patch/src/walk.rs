//! One walk over the expressions of the kernels: which format each has in C++ once the declarations have theirs.
//!
//! The same walk does two things. While formats are sought it tells what is assigned to each class and what each use
//! of it wants. Once they are found it writes the edits: suffixes, casts, other functions.
mod calls;
mod division;
mod places;
mod statements;
mod stored;
#[cfg(test)]
mod walk_tests;

use crate::ast::{AstNode, Spot, TextRange, Via, strip};
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
    /// What the function at hand returns.
    returned: Option<Entity>,
}

/// A binary operation or assignment with its two sides.
#[derive(Clone, Copy)]
struct BinaryExpression<'a> {
    node: &'a AstNode,
    left: &'a AstNode,
    right: &'a AstNode,
}

impl<'a> BinaryExpression<'a> {
    fn from_node(node: &'a AstNode) -> Option<BinaryExpression<'a>> {
        match node.inner.as_slice() {
            [left, right] => Some(BinaryExpression { node, left, right }),
            _ => None,
        }
    }
}

/// Why a place of the plan is not in source.
const IN_MACRO: &str = "it is in the body of a macro";
const NAME_IN_MACRO: &str = "the function's name is in the body of a macro";
pub(crate) const CLASH: &str = "two uses of this text want different things";
const SEVERAL_VARIANTS: &str = "it is computed in several ways in the plan";

/// The format that all operations agree on: the wider one where they do not.
fn agreed(marks: &[&SourceMark]) -> Option<Format> {
    let wide = marks.iter().any(|m| m.to == Format::F64);
    (!marks.is_empty()).then_some(if wide { Format::F64 } else { Format::F32 })
}

/// The variant that all operations agree on.
fn only_variant(variants: &BTreeSet<Option<MathVariant>>) -> Option<MathVariant> {
    let first = variants.first().copied().flatten();
    first.filter(|_| variants.len() == 1)
}

/// Format of an operation on two operands, by C++'s conversions.
fn wider(a: Ty, b: Ty) -> Option<Ty> {
    match (a, b) {
        (Ty::F64, _) | (_, Ty::F64) => Some(Ty::F64),
        (Ty::F32, _) | (_, Ty::F32) => Some(Ty::F32),
        _ => None,
    }
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
            returned: None,
        }
    }

    /// Walks.
    pub fn run(&mut self) {
        for f in self.model.functions.clone() {
            self.function(f);
        }
    }

    fn function(&mut self, function: &'a AstNode) {
        let outer = std::mem::replace(&mut self.returned, self.model.return_of(function));
        if let Some(body) = function.body() {
            self.visit(body, Want::Any);
        }
        self.returned = outer;
    }

    /// Format of an entity under the formats at hand.
    pub fn format(&self, entity: Entity) -> Format {
        let new = self.narrow.get(&self.model.class(entity)).copied();
        new.unwrap_or(self.model.things[entity].own)
    }

    fn natural(&self, node: &AstNode) -> Ty {
        let own = scalar(&node.plain).or(vector(&node.plain).map(|v| v.0));
        own.map_or(Ty::Other, ty)
    }

    fn def(&mut self, entity: Entity, have: Ty) {
        let class = self.model.class(entity);
        self.defs.entry(class).or_default().push(have);
    }

    fn used(&mut self, entity: Entity, want: Want) {
        let class = self.model.class(entity);
        self.uses.entry(class).or_default().push(want);
    }

    fn source(&self, file: usize) -> Option<&'w SourceFile> {
        self.model.sources.get(&file)
    }

    fn say(&mut self, node: &AstNode, why: &str) {
        if self.edits.is_some()
            && let Some(begin) = node.begin
            && let Some(source) = self.source(begin.file)
        {
            self.unsaid.insert(Unsaid {
                file: begin.file,
                line: source.position(begin.shown).0,
                why: why.to_owned(),
            });
        }
    }

    fn visit_all(&mut self, nodes: &'a [AstNode]) {
        for node in nodes {
            self.visit(node, Want::Any);
        }
    }

    /// An expression whose place wants something; its format in C++.
    pub fn visit(&mut self, node: &'a AstNode, want: Want) -> Ty {
        match node.kind.as_str() {
            "ImplicitCastExpr" => self.implicit(node, want),
            "ParenExpr"
            | "ExprWithCleanups"
            | "MaterializeTemporaryExpr"
            | "CXXBindTemporaryExpr"
            | "ConstantExpr"
            | "SubstNonTypeTemplateParmExpr" => match node.inner.last() {
                Some(inner) => self.visit(inner, want),
                None => self.natural(node),
            },
            "FloatingLiteral" => self.literal(node, want),
            "IntegerLiteral" => Ty::Flex,
            "DeclRefExpr" | "MemberExpr" | "ArraySubscriptExpr" => self.place(node, want),
            "UnaryOperator" => self.unary(node, want),
            "BinaryOperator" => self.binary(node, want),
            "CompoundAssignOperator" => self.compound(node),
            "ConditionalOperator" => self.conditional(node, want),
            "CallExpr" => self.call(node, want),
            "CXXOperatorCallExpr" | "CXXMemberCallExpr" if self.model.called(node).is_some() => {
                self.call(node, want)
            }
            "CXXOperatorCallExpr" if vector(&node.plain).is_some() => self.assign_vector(node),
            "CXXConstructExpr" if vector(&node.plain).is_some() && node.inner.len() == 1 => {
                self.visit(&node.inner[0], want)
            }
            "InitListExpr" if vector(&node.plain).is_some() => self.elements(node, want),
            "CStyleCastExpr" | "CXXFunctionalCastExpr" | "CXXStaticCastExpr" => {
                self.explicit(node, want)
            }
            "VarDecl" => self.variable(node),
            "ReturnStmt" => self.return_statement(node),
            "LambdaExpr" => {
                let record = node.inner.iter().find(|c| c.kind == "CXXRecordDecl");
                let body = record.and_then(|r| r.inner.iter().find(|m| m.name == "operator()"));
                if let Some(body) = body {
                    self.function(body);
                }
                Ty::Other
            }
            _ => {
                self.visit_all(&node.inner);
                self.natural(node)
            }
        }
    }

    fn implicit(&mut self, node: &'a AstNode, want: Want) -> Ty {
        let Some(inner) = node.inner.last() else {
            return self.natural(node);
        };
        match node.cast.as_str() {
            "IntegralToFloating" => {
                self.visit(inner, Want::Any);
                Ty::Flex
            }
            "LValueToRValue" | "NoOp" | "FloatingCast" | "ArrayToPointerDecay" => {
                self.visit(inner, want)
            }
            _ => {
                self.visit(inner, Want::Any);
                self.natural(node)
            }
        }
    }

    /// Something that is in memory or in a variable.
    fn place(&mut self, node: &'a AstNode, want: Want) -> Ty {
        self.indices(node);
        let is_vector = vector(&node.plain).is_some();
        if scalar(&node.plain).is_none() && !is_vector {
            return Ty::Other;
        }
        let Some(entity) = self.model.memory(node) else {
            return self.natural(node);
        };
        self.used(entity, want);
        match is_vector {
            true => ty(self.format(entity)),
            false => self.read(node, entity),
        }
    }

    /// Indices and addresses that are computed on the way to a place.
    fn indices(&mut self, node: &'a AstNode) {
        for inner in &node.inner {
            let stripped = strip(inner);
            match stripped.kind.as_str() {
                "DeclRefExpr" => {}
                "MemberExpr" | "ArraySubscriptExpr" => self.indices(stripped),
                _ => {
                    self.visit(inner, Want::Any);
                }
            }
        }
    }

    /// Indices of a place that is written, or whose address is taken.
    fn indices_of(&mut self, place: &'a AstNode) {
        let place = strip(place);
        if place.kind != "DeclRefExpr" {
            self.indices(place);
        }
    }

    fn unary(&mut self, node: &'a AstNode, want: Want) -> Ty {
        let Some(operand) = node.inner.first() else {
            return self.natural(node);
        };
        match node.opcode.as_str() {
            "-" | "+" if scalar(&node.plain).is_some() => self.visit(operand, want),
            "*" => self.place(node, want),
            "&" => {
                self.indices(node);
                Ty::Other
            }
            _ => {
                self.visit(operand, Want::Any);
                self.natural(node)
            }
        }
    }

    /// The format that the plan wants an operation to have.
    fn planned(&self, node: &AstNode, marks: &[SourceMark], compares: bool) -> Option<Format> {
        let is_f32 = scalar(&node.plain) == Some(Format::F32);
        let own = marks.iter().filter(|m| match compares {
            true => m.op == "fcmp",
            false => is_arithmetic(&m.op),
        });
        agreed(
            &own.filter(|m| m.from == Format::F64 || is_f32)
                .collect::<Vec<_>>(),
        )
    }

    fn binary(&mut self, node: &'a AstNode, want: Want) -> Ty {
        let Some(expression) = BinaryExpression::from_node(node) else {
            return self.natural(node);
        };
        let BinaryExpression { left, right, .. } = expression;
        match node.opcode.as_str() {
            "=" => self.assignment(expression),
            "+" | "-" | "*" | "/" if scalar(&node.plain).is_some() => {
                self.arithmetic(expression, want)
            }
            "<" | ">" | "<=" | ">=" | "==" | "!=" if scalar(&left.plain).is_some() => {
                let (_, shown) = self.operator(node);
                let planned = self.planned(node, self.marks_at(shown), true);
                let want = planned.map_or(Want::Any, Want::from);
                self.operands(expression, want, planned.is_some());
                Ty::Other
            }
            "," => {
                self.visit(left, Want::Any);
                self.visit(right, want)
            }
            _ => {
                self.visit_all(&node.inner);
                self.natural(node)
            }
        }
    }

    /// Both operands as an operation in a format wants them; its format. `known` says that the plan has the operation.
    fn operands(&mut self, expression: BinaryExpression<'a>, want: Want, known: bool) -> Ty {
        let BinaryExpression { node, left, right } = expression;
        // A literal takes the format of what it is used with, so it comes last.
        let (first, second) = if flexible(left) {
            (right, left)
        } else {
            (left, right)
        };
        match want {
            Want::F32 => {
                let a = self.visit(first, want);
                let a = self.coerce(first, node, a, want);
                let b = self.visit(second, want);
                let b = self.coerce(second, node, b, want);
                wider(a, b).unwrap_or(Ty::F32)
            }
            Want::F64 => {
                let a = self.visit(first, want);
                let b = self.visit(second, want);
                match wider(a, b) {
                    // Both have become f32, but the operation stays f64.
                    Some(Ty::F32) if a == Ty::F32 => self.coerce(first, node, a, want),
                    Some(Ty::F32) => self.coerce(second, node, b, want),
                    wider => wider.unwrap_or(Ty::Flex),
                }
            }
            Want::Any => {
                let a = self.visit(first, want);
                let then = match a {
                    Ty::F32 if flexible(second) => Want::F32,
                    _ => Want::Any,
                };
                let b = self.visit(second, then);
                wider(a, b).unwrap_or_else(|| match known {
                    true => self.natural(node),
                    false => Ty::Flex,
                })
            }
        }
    }

    fn arithmetic(&mut self, expression: BinaryExpression<'a>, want: Want) -> Ty {
        let BinaryExpression { node, left, right } = expression;
        let marks = self.marks_at(self.operator(node).1);
        let seeking = self.edits.is_none();
        if scalar(&node.plain) == Some(Format::F32) {
            self.visit(left, Want::F32);
            self.visit(right, Want::F32);
            if marks.iter().any(|m| m.half) {
                self.say(node, "computed in f32, the plan has 16 bits");
            }
            self.divide(expression, marks, Format::F32);
            return Ty::F32;
        }
        let Some(planned) = self.planned(node, marks, false) else {
            // The compiler made it part of another operation, or removed it.
            let have = self.operands(expression, want, false);
            return if seeking { Ty::Flex } else { have };
        };
        let have = self.operands(expression, planned.into(), true);
        if let Some(mark) = marks.iter().find(|m| m.half) {
            self.say(
                node,
                &format!("computed in {}, the plan has 16 bits", mark.to),
            );
        }
        if have == Ty::F64 && planned == Format::F32 && !seeking {
            self.say(node, "an operand stays f64");
        }
        let made = match have {
            Ty::F32 => Format::F32,
            _ => Format::F64,
        };
        self.divide(expression, marks, made);
        if seeking { ty(planned) } else { have }
    }
}

/// Is an expression a number that can be written in any format?
fn flexible(node: &AstNode) -> bool {
    let stripped = strip(node);
    match stripped.kind.as_str() {
        "FloatingLiteral" | "IntegerLiteral" => true,
        "UnaryOperator" if matches!(stripped.opcode.as_str(), "-" | "+") => {
            stripped.inner.first().is_some_and(flexible)
        }
        "CStyleCastExpr" | "CXXFunctionalCastExpr" | "CXXStaticCastExpr" => {
            let from = stripped.inner.last();
            from.is_some_and(|c| flexible(c) || scalar(&strip(c).plain).is_none())
        }
        _ => scalar(&stripped.plain).is_none(),
    }
}
