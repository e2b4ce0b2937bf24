//! How the code of kernels is laid out, as variables of the search: registers of a thread, and copies of the bodies of loops.
//!
//! They change no bits, and are decided like elements of threads: on the fastest plan, when the strategy has ended.
use crate::group::Group;
use crate::layout_choice::functions;
use crate::setting::{AUTO, Setting, intern};
use crate::subject::Subject;
use kerf_pass::code_shape::unmarked_latches;
use kerf_pass::{CodeShape, Plan};

/// What is offered. Fewer than 32 registers let no more warps reside; the compilers' own choice is four copies of most loops.
const REGISTERS: [u32; 5] = [32, 48, 64, 96, 128];
const COPIES: [u32; 4] = [1, 2, 8, 16];

/// Before the number, in the name of a level. No launch parameter has such a name.
const REGISTERS_LEVEL: &str = "code.registers=";
const UNROLL_LEVEL: &str = "code.unroll=";

/// One of the variables of a kernel's code.
#[derive(Debug, Clone, PartialEq)]
pub struct CodeChoice {
    /// Position of its group.
    pub group: usize,
    /// Kernel, as plans name it.
    pub kernel: String,
    /// What the levels stand for; the first is what the compilers choose.
    pub levels: Vec<CodeShape>,
}

fn name(shape: &CodeShape) -> &'static str {
    match (shape.registers, shape.unroll) {
        (Some(n), _) => intern(&format!("{REGISTERS_LEVEL}{n}")),
        (None, Some(n)) => intern(&format!("{UNROLL_LEVEL}{n}")),
        (None, None) => AUTO,
    }
}

/// What a level of the search says of a kernel's code; none where it says something else.
pub fn parse_level(text: &str) -> Option<CodeShape> {
    let number = |prefix: &str| text.strip_prefix(prefix)?.parse().ok();
    let shape = CodeShape {
        registers: number(REGISTERS_LEVEL),
        unroll: number(UNROLL_LEVEL),
    };
    (shape != CodeShape::default()).then_some(shape)
}

/// Adds what a level says to a shape.
pub fn put(into: &mut Option<CodeShape>, level: &CodeShape) {
    let shape = into.get_or_insert_default();
    shape.registers = level.registers.or(shape.registers);
    shape.unroll = level.unroll.or(shape.unroll);
}

/// Adds the groups of each kernel.
pub fn add(subject: &Subject, groups: &mut Vec<Group>) -> Vec<CodeChoice> {
    let registers = |n| CodeShape {
        registers: Some(n),
        unroll: None,
    };
    let unroll = |n| CodeShape {
        registers: None,
        unroll: Some(n),
    };
    let mut choices = Vec::new();
    let modules = subject.modules().unwrap_or_default();
    for (_, at, f) in functions(subject, &modules) {
        let k = &subject.kernels[at];
        let limited = f.fn_attr("nvvm.maxnreg").is_some();
        let offered = [
            ("registers", REGISTERS.map(registers).to_vec(), !limited),
            (
                "loops",
                COPIES.map(unroll).to_vec(),
                !unmarked_latches(f).is_empty(),
            ),
        ];
        for (what, shapes, _) in offered.into_iter().filter(|o| o.2) {
            let mut levels = vec![CodeShape::default()];
            levels.extend(shapes);
            let names = levels.iter().map(|s| Setting::Shape(name(s)));
            let title = format!("{}: {what}", k.name);
            let group = Group {
                kernel: k.name.clone(),
                at,
                ..Group::for_launch(&title, names.collect())
            };
            choices.push(CodeChoice {
                group: groups.len(),
                kernel: k.name.clone(),
                levels,
            });
            groups.push(group);
        }
    }
    choices
}

/// What an assignment says of kernels' code, as part of a plan.
pub(crate) fn plan(choices: &[CodeChoice], a: &[u8], plan: &mut Plan) {
    for c in choices {
        let level = a.get(c.group).map_or(0, |l| usize::from(*l));
        if let Some(shape) = c.levels.get(level).filter(|_| level > 0) {
            put(
                &mut plan.kernels.entry(c.kernel.clone()).or_default().code,
                shape,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_say_what_they_are() {
        let shape = |registers, unroll| CodeShape { registers, unroll };
        for s in [shape(Some(64), None), shape(None, Some(8))] {
            assert_eq!(parse_level(name(&s)), Some(s));
            assert!(name(&s).parse::<Setting>().is_ok(), "{}", name(&s));
        }
        assert!(name(&CodeShape::default()).parse::<Setting>().is_ok());
        for other in ["unroll=4", "elements=8", AUTO, "code.unroll=x"] {
            assert_eq!(parse_level(other), None, "{other}");
        }
        let mut both = None;
        put(&mut both, &shape(Some(64), None));
        put(&mut both, &shape(None, Some(8)));
        assert_eq!(both, Some(shape(Some(64), Some(8))));
    }
}
