//! A PTX file, parsed: variables, functions and the statements of their bodies.
use super::lexer::Place;
use super::syntax::{Instruction, Operand};
use super::types::Ty;
use std::collections::BTreeMap;

/// Who sees a variable or function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Visibility {
    /// Nobody outside this file.
    #[default]
    Internal,
    /// `.visible`, `.weak`, `.common`
    Visible,
    /// `.extern`: defined elsewhere.
    Extern,
}

/// State space of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateSpace {
    /// `.global`
    Global,
    /// `.const`
    Const,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// `.param`
    Param,
}

/// One value of an initialiser.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Initial {
    /// A number.
    Number(Operand),
    /// The address of a variable, and bytes beyond it; `generic(x)` if it is a generic one.
    Address(String, u64),
    /// `{ ... }`
    List(Vec<Initial>),
}

/// A variable, or a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Variable {
    /// Where it is declared.
    pub place: Place,
    /// Its state space.
    pub space: StateSpace,
    /// Who sees it.
    pub visibility: Visibility,
    /// Alignment in bytes, where it is said.
    pub align: Option<u32>,
    /// Type of one element.
    pub ty: Ty,
    /// Elements of a vector type, `.v4`.
    pub lanes: u32,
    /// Name.
    pub name: String,
    /// Lengths of an array; none is one without a length, `x[]`.
    pub dims: Vec<Option<u64>>,
    /// Content.
    pub initial: Option<Initial>,
    /// Is a parameter said to be a pointer (`.ptr`)?
    pub pointer: bool,
    /// The space that a pointer is said to lead to; global or generic if nothing is said.
    pub points_to: Option<StateSpace>,
}

/// What a function says of its launches.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Performance {
    /// `.maxntid`
    pub max_threads: Vec<u64>,
    /// `.reqntid`
    pub required_threads: Vec<u64>,
    /// `.minnctapersm`
    pub min_blocks: Option<u64>,
    /// `.maxnreg`
    pub max_registers: Option<u64>,
    /// Names of cluster directives.
    pub cluster: Option<String>,
    /// `.noinline`
    pub noinline: bool,
}

/// A position in the source that PTX was made from, as `.loc` gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SourceLine {
    /// Number of the `.file`.
    pub file: u64,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
    /// Where the code was inlined: file, line and column of the caller.
    pub inlined_at: Option<(u64, u32, u32)>,
}

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallStatement {
    /// Guard predicate, and whether it is negated.
    pub guard: Option<(Operand, bool)>,
    /// The called function, or the register that holds its address.
    pub callee: Operand,
    /// Where the result goes.
    pub results: Vec<Operand>,
    /// Arguments.
    pub arguments: Vec<Operand>,
}

/// A statement of a body.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BodyStatement {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `.reg`: type, name, and how many of `name<n>`.
    Registers(Ty, Vec<(String, Option<u64>)>),
    /// A variable of the function.
    Variable(Variable),
    /// `label:`
    Label(String),
    /// `.loc`
    Location(SourceLine),
    /// `label: .branchtargets a, b;`
    Targets(String, Vec<String>),
    /// An instruction.
    Do(Instruction),
    /// A call.
    Call(CallStatement),
    /// A statement whose operands are of a shape that is not known, and why it is refused.
    Unknown(String, String),
}

/// A function or kernel.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FunctionText {
    /// Where its name is.
    pub place: Place,
    /// Is it a kernel (`.entry`)?
    pub entry: bool,
    /// Who sees it.
    pub visibility: Visibility,
    /// Name.
    pub name: String,
    /// What it gives back.
    pub results: Vec<Variable>,
    /// Parameters.
    pub params: Vec<Variable>,
    /// What it says of its launches.
    pub performance: Performance,
    /// Its statements with their places; none of a declaration.
    pub body: Option<Vec<(BodyStatement, Place)>>,
}

/// A file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PtxFile {
    /// Version of the instruction set, `.version 8.3`.
    pub version: (u32, u32),
    /// Architecture, `.target sm_90`.
    pub target: String,
    /// Sources by number, `.file`.
    pub files: BTreeMap<u64, String>,
    /// Variables of the module.
    pub variables: Vec<Variable>,
    /// Functions and kernels.
    pub functions: Vec<FunctionText>,
}

impl Variable {
    /// Number of elements, the lanes of vectors included; none without a length.
    pub fn elements(&self) -> Option<u64> {
        let mut all = self.dims.iter();
        all.try_fold(u64::from(self.lanes), |n, d| n.checked_mul((*d)?))
    }
    /// Is it an array or vector?
    pub fn is_array(&self) -> bool {
        !self.dims.is_empty() || self.lanes > 1
    }
    /// Bytes of one element.
    pub fn element_bytes(&self) -> u64 {
        u64::from(self.ty.width().div_ceil(8))
    }
    /// Alignment in bytes: what is said, or that of an element.
    pub fn alignment(&self) -> u32 {
        let own = (self.element_bytes() as u32).max(1) * self.lanes;
        self.align.unwrap_or(own.next_power_of_two())
    }
}
