//! Executions of small pieces of machine code.
use super::*;

fn one(
    kind: Kind,
    line: usize,
    is_unpredicated: bool,
    branch_target: Option<usize>,
) -> Instruction {
    Instruction {
        kind,
        is_float_arithmetic: kind == Kind::F64,
        is_three_register_f64: false,
        is_unpredicated,
        stall_clocks: 1,
        result_barrier: 6,
        operand_barrier: 6,
        wait_mask: 0,
        line,
        branch_target,
        bytes: 8.0,
    }
}

fn source(first_line: usize, line_count: usize, executions: f64, in_loop: bool) -> SourceBlock {
    SourceBlock {
        first_line,
        line_count,
        warp_executions: executions,
        in_loop,
        loop_entries: 10.0,
        loop_line: 2,
        is_divergent: false,
        active_lanes: 32.0,
    }
}

/// Executions by ten warps, and which block an instruction is in.
fn by_ten_warps(
    code: &[Instruction],
    blocks: &[SourceBlock],
    operations: &[Operation],
) -> (impl Fn(usize) -> usize, ExecutionProfile) {
    let program = SourceProgram {
        blocks,
        operations,
        access_bytes: &BTreeMap::new(),
        elements: Elements::ONE,
        warps: 10.0,
    };
    let flow = FlowGraph::from_code(code);
    let out = execution_profile(code, &flow, &program);
    let of_block = move |k| {
        let b = flow.blocks.iter().position(|r| r.contains(&k));
        b.expect("a block")
    };
    (of_block, out)
}

/// A loop of 8 iterations by 10 warps, unrolled twice; its body has a barrier and a predicated addition that one iteration in
/// four executes. After the loop there are only such additions.
#[test]
fn control_equivalent_blocks_are_executed_equally_often() {
    let code = [
        one(Kind::Other, 1, true, None),
        // The loop.
        one(Kind::F64, 3, false, None),
        one(Kind::BlockBarrier, 4, true, None),
        one(Kind::F64, 3, false, None),
        one(Kind::BlockBarrier, 4, true, None),
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
    let of = |k: usize| out.block_executions[of_block(k)];
    assert_eq!((of(0), of(1), of(6)), (10.0, 40.0, 10.0));
    assert_eq!(
        (out.predicate_fraction[1], out.predicate_fraction[2]),
        (0.25, 1.0)
    );
}

/// A loop of 7 iterations by 10 warps around one of 9, which was unrolled completely: three iterations became one instruction.
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
    let inner = SourceBlock {
        loop_line: 3,
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
    assert_eq!(out.block_executions[of_block(1)], 70.0);
}

/// A loop of 24 iterations by 10 warps, unrolled four times, around one of 3 that has only loads of constant memory and
/// comparisons.
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
    let inner = SourceBlock {
        loop_line: 3,
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
    assert_eq!(out.block_executions[of_block(1)], 60.0);
}

/// A loop of 4 iterations by 10 warps that was unrolled completely, its iterations merged into one instruction.
#[test]
fn blocks_outside_of_loops_are_executed_once() {
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
    assert_eq!(out.block_executions[of_block(1)], 10.0);
}

/// A block that half of the lanes execute between two that all do, and one that none executes.
#[test]
fn lanes_reconverge_where_they_diverged() {
    let code = [
        one(Kind::Branch, 1, false, Some(2)),
        one(Kind::F64, 2, true, None),
        one(Kind::Branch, 3, false, Some(4)),
        one(Kind::F64, 4, true, None),
        one(Kind::Exit, 5, true, None),
    ];
    let mut operations = [Operation::Other; 5];
    (operations[1], operations[3]) = (Operation::Arithmetic, Operation::Arithmetic);
    let half = |line, executions| SourceBlock {
        active_lanes: 16.0,
        ..source(line, 1, executions, false)
    };
    let sources = [
        source(1, 1, 10.0, false),
        half(2, 10.0),
        source(3, 1, 10.0, false),
        half(4, 0.0),
        source(5, 1, 10.0, false),
    ];
    let (of_block, out) = by_ten_warps(&code, &sources, &operations);
    let of = |k: usize| out.reconvergence_fraction[of_block(k)];
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
    // Two instructions of 8 bytes for one access of 16, or two iterations of 8 each.
    for (bytes, wanted) in [(16.0, 80.0), (8.0, 40.0)] {
        let program = SourceProgram {
            blocks: &sources,
            operations: &operations,
            access_bytes: &BTreeMap::from([(2, bytes)]),
            elements: Elements::ONE,
            warps: 10.0,
        };
        let out = execution_profile(&code, &FlowGraph::from_code(&code), &program);
        assert_eq!(out.block_executions[1], wanted);
    }
}

/// A made function of line 2: its code, a branch around the library's, whose own branch has two sides, and what comes after.
#[test]
fn the_librarys_side_of_a_made_function_is_not_executed() {
    let code = [
        one(Kind::F64, 1, true, None),
        one(Kind::F64, 2, true, None),
        one(Kind::Branch, 2, false, Some(7)),
        one(Kind::F64, 2, true, None),
        one(Kind::Branch, 2, false, Some(6)),
        one(Kind::F64, 2, true, None),
        one(Kind::F64, 2, true, None),
        one(Kind::F64, 3, true, None),
        one(Kind::Exit, 4, true, None),
    ];
    let sources = [source(1, 4, 10.0, false)];
    for (operation, library) in [(Operation::MadeCall, 0.0), (Operation::Call, 10.0)] {
        let operations = [
            Operation::Arithmetic,
            operation,
            Operation::Arithmetic,
            Operation::Other,
        ];
        let (of_block, out) = by_ten_warps(&code, &sources, &operations);
        let of = |k: usize| out.block_executions[of_block(k)];
        assert_eq!((of(0), of(7)), (10.0, 10.0));
        assert_eq!((of(3), of(6)), (library, library), "{operation:?}");
    }
}

/// A loop with a made function of line 2, after whose branch the assembler made two copies of the rest: the block after the
/// branch has nothing but instructions of the function, and leads on to the loop's other operations.
#[test]
fn the_rest_of_a_loop_is_not_the_librarys_side() {
    let code = [
        one(Kind::Other, 1, true, None),
        one(Kind::Branch, 2, false, Some(7)),
        one(Kind::F64, 2, true, None),
        one(Kind::Branch, 2, false, Some(6)),
        one(Kind::F64, 3, true, None),
        one(Kind::Branch, 4, false, Some(1)),
        one(Kind::Exit, 5, true, None),
        // Outside of the range.
        one(Kind::F64, 2, true, None),
        one(Kind::F64, 3, true, None),
        one(Kind::Branch, 4, true, Some(1)),
    ];
    let operations = [
        Operation::Other,
        Operation::MadeCall,
        Operation::Arithmetic,
        Operation::Other,
        Operation::Other,
    ];
    let sources = [
        source(1, 1, 10.0, false),
        source(2, 3, 160.0, true),
        source(5, 1, 10.0, false),
    ];
    let (of_block, out) = by_ten_warps(&code, &sources, &operations);
    let of = |k: usize| out.block_executions[of_block(k)];
    assert!(of(2) > 0.0 && of(4) > 0.0, "{} {}", of(2), of(4));
}

/// Both sides of a made function's branch have its instructions alone: the longer one is the library's.
#[test]
fn of_two_sides_the_longer_is_the_librarys() {
    let code = [
        one(Kind::F64, 1, true, None),
        one(Kind::Branch, 2, false, Some(4)),
        one(Kind::F64, 2, true, None),
        one(Kind::Branch, 2, true, Some(7)),
        one(Kind::F64, 2, true, None),
        one(Kind::F64, 2, true, None),
        one(Kind::F64, 2, true, None),
        one(Kind::F64, 3, true, None),
        one(Kind::Exit, 4, true, None),
    ];
    let operations = [
        Operation::Arithmetic,
        Operation::MadeCall,
        Operation::Arithmetic,
        Operation::Other,
    ];
    let sources = [source(1, 4, 10.0, false)];
    let (of_block, out) = by_ten_warps(&code, &sources, &operations);
    let of = |k: usize| out.block_executions[of_block(k)];
    assert_eq!((of(2), of(4), of(7)), (10.0, 0.0, 10.0));
}
