//! Executions of machine code made up.
use super::*;

fn one(kind: Kind, line: usize, always: bool, target: Option<usize>) -> Instruction {
    Instruction {
        kind,
        arithmetic: kind == Kind::F64,
        wide: false,
        always,
        stall: 1,
        sets: 6,
        frees: 6,
        waits: 0,
        line,
        target,
        bytes: 8.0,
    }
}

fn source(line: usize, lines: usize, executed: f64, cyclic: bool) -> Source {
    Source {
        line,
        lines,
        executed,
        cyclic,
        entered: 10.0,
        head: 2,
        uneven: false,
        lanes: 32.0,
    }
}

/// Executions by ten warps, and which block an instruction is in.
fn by_ten_warps(
    code: &[Instruction],
    sources: &[Source],
    operations: &[Operation],
) -> (impl Fn(usize) -> usize, Executions) {
    let program = Program {
        sources,
        operations,
        bytes: &BTreeMap::new(),
        warps: 10.0,
    };
    let flow = Flow::from_code(code);
    let out = executions(code, &flow, &program);
    let of_block = move |k| {
        let b = flow.blocks.iter().position(|r| r.contains(&k));
        b.expect("a block")
    };
    (of_block, out)
}

/// A loop of 8 rounds, two at a time, of 10 warps; its body has an addition that runs once in four, as a predicate, and a
/// barrier. What stands after the loop has such additions only.
#[test]
fn blocks_run_as_often_as_what_they_cannot_be_left_without() {
    let code = [
        one(Kind::Other, 1, true, None),
        // The loop.
        one(Kind::F64, 3, false, None),
        one(Kind::Barrier, 4, true, None),
        one(Kind::F64, 3, false, None),
        one(Kind::Barrier, 4, true, None),
        one(Kind::Branch, 4, false, Some(1)),
        // After it.
        one(Kind::F64, 6, false, None),
        one(Kind::F64, 6, false, None),
        one(Kind::Exit, 7, true, None),
    ];
    let operations = [
        Operation::Other,
        Operation::Other,
        Operation::Arithmetic,
        Operation::Barrier,
        Operation::Other,
        Operation::Arithmetic,
        Operation::Other,
    ];
    let sources = [
        source(1, 1, 10.0, false),
        source(2, 1, 80.0, true),
        source(3, 1, 20.0, true),
        source(4, 2, 80.0, true),
        source(6, 1, 2.0, false),
        source(7, 1, 10.0, false),
    ];
    let (of_block, out) = by_ten_warps(&code, &sources, &operations);
    let of = |k: usize| out.blocks[of_block(k)];
    assert_eq!((of(0), of(1), of(6)), (10.0, 40.0, 10.0));
    assert_eq!((out.runs[1], out.runs[2]), (0.25, 1.0));
}

/// A loop of 7 rounds by 10 warps around one of 9, which was unrolled wholly: three rounds became one instruction.
#[test]
fn merged_copies_do_not_make_a_loop_run_more_often() {
    let mut code = vec![one(Kind::Other, 1, true, None)];
    for line in 3..8 {
        code.extend((0..3).map(|_| one(Kind::F64, line, true, None)));
    }
    code.extend((8..11).map(|line| one(Kind::F64, line, true, None)));
    code.push(one(Kind::Branch, 11, false, Some(1)));
    code.push(one(Kind::Exit, 12, true, None));
    let mut operations = [Operation::Other; 12];
    operations[2..10].fill(Operation::Arithmetic);
    let inner = Source {
        head: 3,
        ..source(3, 5, 630.0, true)
    };
    let sources = [
        source(1, 1, 10.0, false),
        source(2, 1, 70.0, true),
        inner,
        source(8, 4, 70.0, true),
        source(12, 1, 10.0, false),
    ];
    let (of_block, out) = by_ten_warps(&code, &sources, &operations);
    assert_eq!(out.blocks[of_block(1)], 70.0);
}

/// A loop of 24 rounds by 10 warps, four at once, around one of 3, which has loads of constant memory and comparisons only.
#[test]
fn loads_of_constant_memory_tell_copies() {
    let mut code = vec![one(Kind::Other, 1, true, None)];
    for _ in 0..12 {
        code.push(one(Kind::ConstantLoad, 3, true, None));
        code.push(one(Kind::Other, 4, true, None));
    }
    code.extend((0..4).map(|_| one(Kind::F64, 5, false, None)));
    code.push(one(Kind::Branch, 6, false, Some(1)));
    code.push(one(Kind::Exit, 7, true, None));
    let mut operations = [Operation::Other; 7];
    (operations[2], operations[4]) = (Operation::Access, Operation::Arithmetic);
    let inner = Source {
        head: 3,
        ..source(3, 2, 720.0, true)
    };
    let sources = [
        source(1, 1, 10.0, false),
        source(2, 1, 240.0, true),
        inner,
        source(5, 1, 80.0, true),
        source(6, 1, 240.0, true),
        source(7, 1, 10.0, false),
    ];
    let (of_block, out) = by_ten_warps(&code, &sources, &operations);
    assert_eq!(out.blocks[of_block(1)], 60.0);
}

/// A loop of 4 rounds by 10 warps that is no loop any more, whose rounds became one instruction.
#[test]
fn what_is_in_no_loop_runs_once() {
    let code = [
        one(Kind::Other, 1, true, None),
        one(Kind::F64, 2, true, None),
        one(Kind::F64, 3, true, None),
        one(Kind::Exit, 4, true, None),
    ];
    let mut operations = [Operation::Other; 4];
    operations[1..3].fill(Operation::Arithmetic);
    let sources = [
        source(1, 1, 10.0, false),
        source(2, 2, 40.0, true),
        source(4, 1, 10.0, false),
    ];
    let (of_block, out) = by_ten_warps(&code, &sources, &operations);
    assert_eq!(out.blocks[of_block(1)], 10.0);
}

/// A block that half of the threads run between two that all do, and one that nobody runs.
#[test]
fn threads_come_together_where_they_parted() {
    let code = [
        one(Kind::Branch, 1, false, Some(2)),
        one(Kind::F64, 2, true, None),
        one(Kind::Branch, 3, false, Some(4)),
        one(Kind::F64, 4, true, None),
        one(Kind::Exit, 5, true, None),
    ];
    let mut operations = [Operation::Other; 5];
    (operations[1], operations[3]) = (Operation::Arithmetic, Operation::Arithmetic);
    let half = |line, executed| Source {
        lanes: 16.0,
        ..source(line, 1, executed, false)
    };
    let sources = [
        source(1, 1, 10.0, false),
        half(2, 10.0),
        source(3, 1, 10.0, false),
        half(4, 0.0),
        source(5, 1, 10.0, false),
    ];
    let (of_block, out) = by_ten_warps(&code, &sources, &operations);
    let of = |k: usize| out.meet[of_block(k)];
    assert_eq!((of(2), of(4)), (1.0, 0.0));
}

#[test]
fn accesses_that_are_not_aligned_are_one() {
    let code = [
        one(Kind::Other, 1, true, None),
        one(Kind::Load, 2, true, None),
        one(Kind::Load, 2, true, None),
        one(Kind::Branch, 3, false, Some(1)),
        one(Kind::Exit, 4, true, None),
    ];
    let mut operations = [Operation::Other; 4];
    operations[1] = Operation::Access;
    let sources = [
        source(1, 1, 10.0, false),
        source(2, 2, 80.0, true),
        source(4, 1, 10.0, false),
    ];
    // Two instructions of 8 bytes for one access of 16, or two rounds of 8 each.
    for (bytes, wanted) in [(16.0, 80.0), (8.0, 40.0)] {
        let program = Program {
            sources: &sources,
            operations: &operations,
            bytes: &BTreeMap::from([(2, bytes)]),
            warps: 10.0,
        };
        let out = executions(&code, &Flow::from_code(&code), &program);
        assert_eq!(out.blocks[1], wanted);
    }
}
