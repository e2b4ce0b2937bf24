//! What registers hold: numbers of which format, or integers.
//!
//! Compilers declare registers by width alone and load and store them as bits (`ld.global.b32`). Which of them are
//! floating-point numbers is seen from the instructions that compute with them, and passed on through moves: registers
//! that are copied into each other hold the same kind. A load or store of bits then has the type of its register, and so
//! a buffer has the type of what is done with its content.
use super::flat::{FlatBody, FlatOp};
use super::syntax::{Instruction, Operand};
use super::types::Ty;
use std::collections::HashMap;

/// Registers joined to classes, each with the votes for a floating-point type.
#[derive(Default)]
struct Classes {
    index: HashMap<String, usize>,
    parent: Vec<usize>,
    votes: Vec<Vec<(Ty, u32)>>,
}

impl Classes {
    fn class(&mut self, name: &str) -> usize {
        let next = self.parent.len();
        let i = *self.index.entry(name.to_owned()).or_insert(next);
        if i == next {
            self.parent.push(i);
            self.votes.push(Vec::new());
        }
        self.root(i)
    }
    fn root(&mut self, mut i: usize) -> usize {
        while self.parent[i] != i {
            self.parent[i] = self.parent[self.parent[i]];
            i = self.parent[i];
        }
        i
    }
    fn join(&mut self, a: &str, b: &str) {
        let (a, b) = (self.class(a), self.class(b));
        if a != b {
            self.parent[b] = a;
            let moved = std::mem::take(&mut self.votes[b]);
            for (ty, n) in moved {
                self.vote(a, ty, n);
            }
        }
    }
    fn vote(&mut self, class: usize, ty: Ty, n: u32) {
        let votes = &mut self.votes[class];
        match votes.iter_mut().find(|(t, _)| *t == ty) {
            Some((_, m)) => *m += n,
            None => votes.push((ty, n)),
        }
    }
}

/// Types of the registers that hold floating-point numbers, of the width that they were declared with.
pub(super) fn float_registers(body: &FlatBody) -> HashMap<String, Ty> {
    let mut classes = Classes::default();
    let statements = body.blocks.iter().flatten();
    for i in statements.filter_map(|s| match &s.op {
        FlatOp::Do(i) => Some(i),
        _ => None,
    }) {
        look(&mut classes, body, i);
    }
    let mut out = HashMap::new();
    for (name, ty) in &body.registers {
        let declared = Some(*ty).filter(|t| t.format().is_some());
        let class = classes.class(name);
        let votes = classes.votes[class].iter();
        let fits = votes.filter(|(t, _)| t.width() == ty.width());
        // The first of several with as many votes: the order of the text, not of a table.
        let best = fits.rev().max_by_key(|(_, n)| *n).map(|(t, _)| *t);
        if let Some(t) = declared.or(best) {
            out.insert(name.clone(), t);
        }
    }
    out
}

fn register<'o>(body: &FlatBody, o: &'o Operand) -> Option<&'o str> {
    match o {
        Operand::Name(n) if body.registers.contains_key(n) => Some(n),
        _ => None,
    }
}

/// Registers of an operand: one, or those of a vector.
fn registers<'o>(body: &FlatBody, o: &'o Operand) -> Vec<&'o str> {
    match o {
        Operand::Vector(all) => all.iter().filter_map(|o| register(body, o)).collect(),
        o => register(body, o).into_iter().collect(),
    }
}

fn look(classes: &mut Classes, body: &FlatBody, i: &Instruction) {
    let types: Vec<Ty> = i.modifiers.iter().filter_map(|m| Ty::parse(m)).collect();
    let typed = |n: usize| types.get(n).copied().filter(|t| t.format().is_some());
    let mut vote = |o: &Operand, ty: Option<Ty>| {
        for name in registers(body, o) {
            if let Some(ty) = ty.filter(|t| body.registers[name].width() == t.width()) {
                let class = classes.class(name);
                classes.vote(class, ty, 1);
            }
        }
    };
    let all = &i.operands;
    match i.opcode() {
        // Of a conversion, each side has its type.
        "cvt" | "set" => {
            if let [to, from @ ..] = all.as_slice() {
                vote(to, typed(0));
                from.iter().for_each(|o| vote(o, typed(1)));
            }
        }
        "setp" | "testp" => all.iter().skip(1).for_each(|o| vote(o, typed(0))),
        _ => all.iter().for_each(|o| vote(o, typed(0))),
    }
    let copied: &[usize] = match i.opcode() {
        "mov" => &[0, 1],
        "selp" => &[0, 1, 2],
        "shfl" => &[0, 1],
        _ => &[],
    };
    let names: Vec<&str> = copied
        .iter()
        .filter_map(|k| {
            let o = match all.get(*k)? {
                Operand::Pair(d, _) => d,
                o => o,
            };
            register(body, o)
        })
        .collect();
    for pair in names.windows(2) {
        if body.registers[pair[0]].width() == body.registers[pair[1]].width() {
            classes.join(pair[0], pair[1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::file_parser::parse_file;
    use super::super::flat::flatten;
    use super::*;
    use kerf_num::Format;

    #[test]
    fn bits_have_the_type_of_what_is_computed_with_them() {
        let text = ".version 8.3\n.target sm_90\n.address_size 64\n.entry k() {\n\
            .reg .b32 %r<9>; .reg .b64 %rd<4>;\n\
            ld.global.b32 %r1, [%rd1];\n mov.b32 %r2, %r1;\n add.rn.f32 %r3, %r2, %r2;\n\
            ld.global.b32 %r4, [%rd1];\n add.s32 %r5, %r4, 1;\n\
            cvt.f64.f32 %rd2, %r6;\n ret; }";
        let file = parse_file(text).unwrap();
        let body = flatten(file.functions[0].body.as_ref().unwrap()).unwrap();
        let kinds = float_registers(&body);
        let single = Some(&Ty::Float(Format::F32));
        for r in ["%r1", "%r2", "%r3", "%r6"] {
            assert_eq!(kinds.get(r), single, "{r}");
        }
        assert_eq!(kinds.get("%rd2"), Some(&Ty::Float(Format::F64)));
        for r in ["%r4", "%r5", "%rd1"] {
            assert_eq!(kinds.get(r), None, "{r}");
        }
    }
}
