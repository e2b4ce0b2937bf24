//! Which parameters of a kernel are buffers of records: by the types of the source, or by how they are accessed.
use super::layout::{RecordLayout, RecordPlan};
use super::place::unit;
use super::trace::Trace;
use crate::storage::{Object, objects};
use kerf_ir::kernels::{KernelInfo, ParamKind, ScalarKind};
use kerf_llvm::{Module, Value};
use kerf_npy::scalar::Scalar;
use kerf_num::Format;

/// A pointer parameter that may be a buffer of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordBuffer {
    /// Kernel parameter, by number.
    pub parameter: usize,
    /// As a plan names it.
    pub key: String,
    /// Scalars of what the source says it points to.
    pub element: Vec<Scalar>,
    /// Scalars from a record to the next, as far as accesses tell: all begin at a multiple of so many, and a constant. None where
    /// they do not tell.
    pub stride: Option<usize>,
}

/// The scalar of a kind.
fn scalar(kind: ScalarKind) -> Option<Scalar> {
    Some(match kind {
        ScalarKind::Float(Format::F64) => Scalar::F64,
        ScalarKind::Float(Format::F32) => Scalar::F32,
        ScalarKind::Float(Format::F16) => Scalar::F16,
        ScalarKind::Float(Format::Bf16) => Scalar::Bf16,
        ScalarKind::Int { bits, signed } => match (bits, signed) {
            (8, true) => Scalar::I8,
            (8, false) => Scalar::U8,
            (16, true) => Scalar::I16,
            (16, false) => Scalar::U16,
            (32, true) => Scalar::I32,
            (32, false) => Scalar::U32,
            (64, true) => Scalar::I64,
            (64, false) => Scalar::U64,
            _ => return None,
        },
        ScalarKind::Ptr => return None,
    })
}

/// The scalars that a parameter points to, if there is nothing between them.
fn element(kind: &ParamKind) -> Option<Vec<Scalar>> {
    let ParamKind::Pointer { element, .. } = kind else {
        return None;
    };
    let mut out = Vec::new();
    let mut end = 0;
    for s in element {
        let one = scalar(s.kind)?;
        if s.offset != end {
            return None;
        }
        end += one.bytes() as u64;
        out.push(one);
    }
    (!out.is_empty()).then_some(out)
}

/// Scalars from a record to the next, by the accesses; none where these do not tell.
fn stride(m: &Module, base: Value, element: &[Scalar]) -> Option<usize> {
    let first = element.first()?;
    let trace = Trace::new(base).ok()?;
    let mut bytes = 0;
    for a in &trace.accesses {
        bytes = unit(m, a.instruction.operand(a.operand), base, bytes)?;
    }
    let alike = element.iter().all(|s| s == first);
    let (bytes, one) = (bytes as usize, first.bytes());
    (alike && bytes > 0 && bytes.is_multiple_of(one)).then(|| bytes / one)
}

/// The pointer parameters of a kernel.
pub fn survey(m: &Module, kernel: Value, info: &KernelInfo) -> Vec<RecordBuffer> {
    let all = objects(kernel, info);
    let mut out = Vec::new();
    for (name, o) in &all {
        let Object::Parameter(p) = o else { continue };
        let Some(parameter) = kernel.params().iter().position(|q| q == p) else {
            continue;
        };
        let Some(element) = info.params.get(parameter).and_then(|i| element(&i.kind)) else {
            continue;
        };
        let alone = all.iter().filter(|o| o.0 == *name).count() == 1 && !name.is_empty();
        let named = alone && name.parse::<usize>().is_err();
        out.push(RecordBuffer {
            parameter,
            key: if named {
                name.clone()
            } else {
                parameter.to_string()
            },
            stride: stride(m, *p, &element),
            element,
        });
    }
    out
}

impl RecordBuffer {
    /// The records that it has by itself: what the source says, or else the accesses.
    pub fn records(&self, layout: RecordLayout) -> Option<RecordPlan> {
        let count = match self.element.len() {
            1 => self.stride?,
            n => n,
        };
        let fields = self.element.iter().cycle().take(count).copied().collect();
        (count > 1).then_some(RecordPlan { fields, layout })
    }
}
