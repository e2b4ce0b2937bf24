//! Floats in structs that are values: what a function returns by value.
use super::{Dd, Pass, lanes};
use kerf_llvm::{Builder, Type, Value};

/// Slots that the runtime has for arguments; a returned struct uses the same.
const SLOTS: usize = 64;

/// Paths of the scalar floats in a type.
fn leaves(t: Type, path: &[u32], out: &mut Vec<Vec<u32>>) {
    use kerf_llvm::TypeKind::*;
    let n = match t.kind() {
        LLVMStructTypeKind => t.fields().len(),
        LLVMArrayTypeKind => t.array_len() as usize,
        _ => {
            if lanes(t).is_some_and(|s| s.1 == 1) {
                out.push(path.to_vec());
            }
            return;
        }
    };
    for i in (0..n).take(SLOTS) {
        let field = if t.kind() == LLVMArrayTypeKind {
            t.element()
        } else {
            t.fields()[i]
        };
        leaves(field, &[path, &[i as u32]].concat(), out);
    }
}

fn slots(t: Type) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    leaves(t, &[], &mut all);
    all.truncate(SLOTS);
    if all == [Vec::<u32>::new()] {
        Vec::new()
    } else {
        all
    }
}

impl Pass<'_> {
    /// A float put into a struct.
    pub(super) fn insert_value(&mut self, b: &Builder, i: Value) {
        let mut all = self
            .aggregates
            .get(&i.operand(0))
            .cloned()
            .unwrap_or_default();
        let x = i.operand(1);
        if lanes(x.ty()).is_some_and(|s| s.1 == 1) {
            all.insert(i.indices(), self.get(b, x)[0]);
            // For a struct that gets lost on its way, in a phi or a select.
            self.remember(b, x);
        } else if let Some(inner) = self.aggregates.get(&x) {
            all.extend(
                inner
                    .iter()
                    .map(|(p, s)| ([i.indices(), p.clone()].concat(), *s)),
            );
        }
        self.aggregates.insert(i, all);
    }

    /// A float taken out of a struct.
    pub(super) fn extract_value(&self, b: &Builder, i: Value) -> Vec<Dd> {
        let all = self.aggregates.get(&i.operand(0));
        // Lanes of a vector have paths of their own.
        let path = |l: u32| match i.ty().is_vector() {
            true => [i.indices(), vec![l]].concat(),
            false => i.indices(),
        };
        let lane = |l: u32| all.and_then(|a| a.get(&path(l))).copied();
        let known: Option<Vec<Dd>> = (0..i.ty().lanes()).map(lane).collect();
        known.unwrap_or_else(|| self.recall(b, i))
    }

    fn leaf(b: &Builder, v: Value, path: &[u32]) -> Value {
        path.iter().fold(v, |v, i| b.extract(v, *i))
    }

    /// A struct that is returned: its floats' shadows go through the argument slots.
    pub(super) fn return_aggregate(&self, b: &Builder, v: Value) {
        let known = self.aggregates.get(&v);
        for (k, path) in slots(v.ty()).into_iter().enumerate() {
            let x = Self::leaf(b, v, &path);
            let s = known
                .and_then(|a| a.get(&path))
                .copied()
                .unwrap_or_else(|| self.recall(b, x)[0]);
            self.call_void(
                b,
                "kerf_shadow_set_arg",
                &[b.i32(k as u32), self.bits(b, x), s.hi, s.lo],
            );
        }
    }

    /// A struct that a call returned.
    pub(super) fn returned_aggregate(&mut self, b: &Builder, i: Value) {
        let read = |(k, path): (usize, Vec<u32>)| {
            let x = Self::leaf(b, i, &path);
            let s = self.call_dd(
                b,
                "kerf_shadow_arg",
                &[b.i32(k as u32), self.bits(b, x), self.fmt(b, x.ty())],
            );
            (path, s)
        };
        let all = slots(i.ty()).into_iter().enumerate().map(read).collect();
        self.aggregates.insert(i, all);
    }
}
