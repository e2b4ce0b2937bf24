//! Sequences of instructions whose time is known.
use super::*;
use crate::cost::FittedConstants;

fn one_scheduler(warps: usize, warps_per_block: usize) -> ResidentWarps {
    ResidentWarps {
        warps,
        schedulers: 1,
        warps_per_block,
    }
}

fn clocks(code: &[ScheduledInstruction], resident: ResidentWarps, iterations: usize) -> f64 {
    let constants = &FittedConstants::shipped().machine_code;
    super::clocks(code, resident, iterations, constants)
}

pub fn instruction(pipe: Pipe, pipe_clocks: f64, stall_clocks: f64) -> ScheduledInstruction {
    ScheduledInstruction {
        pipe,
        pipe_clocks,
        latency_clocks: 0.0,
        stall_clocks,
        result_barrier: 6,
        operand_barrier: 6,
        wait_mask: 0,
        is_block_barrier: false,
        basic_block: 0,
        probability: 1.0,
        issue_slots: 1.0,
    }
}

#[test]
fn a_chain_is_hidden_by_other_warps_until_the_unit_is_full() {
    let chain = [instruction(Pipe::F64, 2.0, 8.0); 10];
    let one = clocks(&chain, one_scheduler(1, 1), 8);
    assert!((one - 80.0).abs() < 1.0, "{one}");
    let two = clocks(&chain, one_scheduler(2, 1), 8);
    assert!((two - 80.0).abs() < 3.0, "{two}");
    let eight = clocks(&chain, one_scheduler(8, 1), 8);
    assert!((eight - 160.0).abs() < 9.0, "{eight}");
}

#[test]
fn a_load_is_waited_for_where_its_barrier_is() {
    let mut load = instruction(Pipe::LoadStore, 4.0, 1.0);
    (load.result_barrier, load.latency_clocks) = (0, 500.0);
    let mut user = instruction(Pipe::F64, 2.0, 1.0);
    user.wait_mask = 1;
    let idle = clocks(
        &[load, instruction(Pipe::F64, 2.0, 1.0)],
        one_scheduler(1, 1),
        4,
    );
    assert!(idle < 10.0, "{idle}");
    let waited = clocks(&[load, user], one_scheduler(1, 1), 4);
    assert!((waited - 501.0).abs() < 3.0, "{waited}");
}

#[test]
fn warps_go_on_while_a_unit_has_work() {
    // Conversions and additions of one warp: as long as the conversions, not as both.
    let mut all = vec![instruction(Pipe::Special, 8.0, 1.0); 2];
    all.extend([instruction(Pipe::Alu, 2.0, 2.0); 7]);
    let one = clocks(&all, one_scheduler(1, 1), 16);
    assert!((one - 16.0).abs() < 1.5, "{one}");
}

#[test]
fn a_unit_that_limits_is_never_idle() {
    // Eight products of two clocks each, for four warps.
    let all = [instruction(Pipe::F64, 2.0, 2.0); 8];
    let four = clocks(&all, one_scheduler(4, 1), 8);
    assert!((four - 64.0).abs() < 1.0, "{four}");
    let mut half = instruction(Pipe::F64, 2.0, 4.0);
    (half.basic_block, half.probability) = (1, 0.5);
    let some: Vec<ScheduledInstruction> = all.iter().copied().chain([half; 8]).collect();
    let four = clocks(&some, one_scheduler(4, 1), 24);
    assert!((four - 96.0).abs() < 5.0, "{four}");
}

#[test]
fn warps_of_a_block_wait_at_its_barrier() {
    let mut barrier = instruction(Pipe::Unlimited, 0.0, 1.0);
    barrier.is_block_barrier = true;
    let all = [instruction(Pipe::F64, 2.0, 8.0), barrier];
    let together = clocks(&all, one_scheduler(4, 4), 8);
    let apart = clocks(&all, one_scheduler(4, 1), 8);
    assert!(together > 30.0 && together < 60.0, "{together}");
    assert!(apart <= together, "{apart} {together}");
}

#[test]
fn warps_of_a_block_are_on_all_schedulers() {
    // One warp in four has a long way, for which a block's others wait, wherever they are.
    let mut barrier = instruction(Pipe::Unlimited, 0.0, 1.0);
    barrier.is_block_barrier = true;
    let mut long = instruction(Pipe::F64, 2.0, 400.0);
    (long.basic_block, long.probability) = (1, 0.25);
    let all = [instruction(Pipe::Alu, 2.0, 2.0), long, barrier];
    let resident = |warps_per_block| ResidentWarps {
        warps: 16,
        schedulers: 4,
        warps_per_block,
    };
    let alone = clocks(&all, resident(1), 24);
    let together = clocks(&all, resident(8), 24);
    assert!(together > 1.5 * alone, "{together} {alone}");
}

#[test]
fn schedulers_share_the_load_store_unit() {
    let loads = [instruction(Pipe::LoadStore, 8.0, 1.0); 4];
    let of = |schedulers| ResidentWarps {
        warps: 4 * schedulers,
        schedulers,
        warps_per_block: 1,
    };
    let (one, four) = (clocks(&loads, of(1), 16), clocks(&loads, of(4), 16));
    assert!((one / four - 1.0).abs() < 0.05, "{one} {four}");
}
