//! What is learnt of memory from the arguments of a library's call, whose types are not known: words that are addresses of the
//! program's allocations are taken for pointers.
use crate::error::{CallFailure, code};
use crate::state::State;
use kerf_ir::kernels::{ScalarAt, ScalarKind};
use kerf_num::Format;

/// Words on the stack that are looked at; no call of these libraries has more arguments than that.
const ON_STACK: usize = 20;

/// The words of a call that may be arguments.
pub struct CallArguments([u64; 6 + ON_STACK]);

impl CallArguments {
    /// # Safety
    /// `stack` is where the caller's arguments on the stack begin: so many words are readable behind it, since it is not at a stack's end.
    pub unsafe fn new(registers: &[u64; 6], stack: *const u64) -> CallArguments {
        let mut words = [0; 6 + ON_STACK];
        words[..6].copy_from_slice(registers);
        for (i, w) in words[6..].iter_mut().enumerate() {
            // SAFETY: as the caller promises.
            *w = unsafe { stack.add(i).read() };
        }
        CallArguments(words)
    }
}

/// The type of the numbers that a function works on, where its name tells: that of every array which it is given.
fn element(name: &str) -> Option<(Vec<ScalarAt>, u64)> {
    let one = |kind: ScalarKind| Some((vec![ScalarAt { offset: 0, kind }], kind.bytes()));
    let two = |kind: ScalarKind| {
        let second = kind.bytes();
        let at = |offset| ScalarAt { offset, kind };
        Some((vec![at(0), at(second)], 2 * second))
    };
    if name.contains("Batched") && !name.contains("StridedBatched") || name.contains("Ex") {
        return None;
    }
    if let Some(rest) = name.strip_prefix("curandGenerate") {
        return match rest {
            "Uniform" | "Normal" | "LogNormal" => one(ScalarKind::Float(Format::F32)),
            "UniformDouble" | "NormalDouble" | "LogNormalDouble" => {
                one(ScalarKind::Float(Format::F64))
            }
            _ => None,
        };
    }
    let rest = name.strip_prefix("cublas")?;
    let mut letters = rest.chars();
    let kind = letters.next()?;
    if !letters.next().is_some_and(|c| c.is_ascii_lowercase())
        || ["Set", "Create", "Destroy"]
            .iter()
            .any(|w| rest.starts_with(w))
    {
        return None;
    }
    match kind {
        'S' => one(ScalarKind::Float(Format::F32)),
        'D' => one(ScalarKind::Float(Format::F64)),
        'C' => two(ScalarKind::Float(Format::F32)),
        'Z' => two(ScalarKind::Float(Format::F64)),
        _ => None,
    }
}

/// Notes the memory that a call is given. A buffer that a plan holds in another format is refused: the library would take it
/// for what it was.
pub fn note(s: &mut State, name: &str, arguments: &CallArguments) -> Result<(), CallFailure> {
    let holds = |s: &State, word: u64| s.holding(word).map(|(at, a)| (at, a.number, a.held));
    let mut known = None;
    for word in arguments.0 {
        let Some((at, number, held)) = holds(s, word) else {
            continue;
        };
        if held.is_some() {
            let why = "is given a buffer that the plan holds in another format";
            return Err(CallFailure::new(code::NOT_SUPPORTED, why));
        }
        if let Some(t) = &mut s.trace {
            t.fix(number, "it is given to a call of a library");
        }
        if !s.watched() {
            continue;
        }
        let element = known.get_or_insert_with(|| element(name));
        if let Some(a) = s.memory.get_mut(&at) {
            a.written = true;
            if a.element.is_none() {
                a.element.clone_from(element);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_types() {
        let bytes = |n: &str| element(n).map(|(scalars, bytes)| (scalars.len(), bytes));
        assert_eq!(bytes("cublasDgemm_v2"), Some((1, 8)));
        assert_eq!(bytes("cublasCgemv_v2"), Some((2, 8)));
        assert_eq!(bytes("cublasCreate_v2"), None);
        assert_eq!(bytes("cublasSetStream_v2"), None);
        assert_eq!(bytes("cublasDgemmBatched"), None);
        assert_eq!(bytes("cublasDestroy_v2"), None);
        assert_eq!(bytes("cublasSgemmStridedBatched"), Some((1, 4)));
        assert_eq!(bytes("curandGenerateUniformDouble"), Some((1, 8)));
        assert_eq!(bytes("curandGenerate"), None);
    }
}
