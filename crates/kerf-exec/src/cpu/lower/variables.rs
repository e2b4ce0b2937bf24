//! Variables of the program that accesses may meet without naming them.
use kerf_llvm::{Linkage, Module, TypeKind, space};

/// A variable of the program that the checks have to know.
#[derive(Debug, Clone)]
pub struct CheckedVariable {
    /// Symbol in the object.
    pub symbol: String,
    /// Size.
    pub bytes: usize,
    /// Bytes of one element.
    pub element: usize,
}

/// Variables that a pointer may lead to (tables, virtual tables), made visible under their names.
pub(super) fn name_variables(m: &Module) -> Vec<CheckedVariable> {
    let mut out = Vec::new();
    for (k, g) in m.globals().into_iter().enumerate() {
        if g.is_declaration() || g.ty().space() == space::SHARED {
            continue;
        }
        if g.name().is_empty() {
            g.set_name(&format!("kerf.variable.{k}"));
        }
        g.set_linkage(Linkage::LLVMExternalLinkage);
        let t = g.global_type();
        let bytes = m.size_of(t) as usize;
        let array = t.kind() == TypeKind::LLVMArrayTypeKind && t.array_len() > 0;
        let element = if array {
            bytes / t.array_len() as usize
        } else {
            bytes
        };
        out.push(CheckedVariable {
            symbol: g.name(),
            bytes,
            element: element.max(1),
        });
    }
    out
}
