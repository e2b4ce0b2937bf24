//! Known answers, worked out by hand, and what must hold for any launch.
//!
//! By hand, for 64 registers and 256 threads on 9.0: a warp gets 32 * 64 = 2048 registers (a
//! multiple of 256), a partition has 16384, so 8 warps a partition, 32 an SM, 4 blocks of 8 warps.
//! Warps alone would allow 64 / 8 = 8 blocks, so registers limit. Each case below was derived so,
//! from the limits in NVIDIA's tables and not from this code.
use super::*;
use crate::bundled;
use OccupancyLimit::*;

fn machine(word: &str) -> Multiprocessor {
    let p = bundled::find(word).expect(word).bundled.load().expect(word);
    Multiprocessor::from_profile(&p).expect(word)
}

fn demand(registers: u32, shared: u64) -> Demand {
    Demand {
        registers,
        shared,
        carveout: None,
    }
}

#[test]
fn known_answers() {
    type Case = (&'static str, u32, u64, u32, u32, &'static [OccupancyLimit]);
    let cases: &[Case] = &[
        // arch, registers, shared bytes, threads; blocks, limits
        // 32 regs: 1024 a warp, 16 warps a partition, 64 an SM: as many as the warp slots.
        ("9.0", 32, 0, 256, 8, &[Warps, Registers]),
        ("9.0", 64, 0, 256, 4, &[Registers]),
        // 33 regs: 1056, in units of 256: 1280; 12 warps a partition, 48, 6 blocks of 8.
        ("9.0", 33, 0, 256, 6, &[Registers]),
        // 16 KiB + 1 KiB of the system: 228 / 17 = 13 blocks; registers allow 4.
        ("9.0", 64, 16384, 256, 4, &[Registers]),
        // 48 KiB + 1: 228 / 49 = 4 blocks; registers allow 8.
        ("9.0", 32, 49152, 256, 4, &[SharedMemory]),
        // One warp a block: 64 warps, but 32 blocks.
        ("9.0", 16, 0, 32, 32, &[Blocks]),
        // 1024 threads are 32 warps: two blocks; 32 regs allow 64 warps.
        ("9.0", 32, 0, 1024, 2, &[Warps, Registers]),
        // The largest block that is opted in: 227 KiB + 1 = 228, one block.
        ("9.0", 32, 232448, 128, 1, &[SharedMemory]),
        // 255 regs: 8160 in units of 256 is 8192: 2 warps a partition, 8 an SM.
        ("9.0", 255, 0, 256, 1, &[Registers]),
        ("9.0", 255, 0, 64, 4, &[Registers]),
        // 168 regs: 5376 a warp, 3 a partition, 12 an SM: three blocks of 4.
        ("9.0", 168, 0, 128, 3, &[Registers]),
        // 33 threads count as two warps: 64 / 2 = 32 blocks, as many as block slots.
        ("9.0", 16, 0, 33, 32, &[Warps, Blocks]),
        // 7.0 has no reserved memory: 96 KiB / 32 KiB = 3 blocks.
        ("7.0", 32, 32768, 128, 3, &[SharedMemory]),
        // One byte more takes another unit of 256: 98304 / 33024 = 2.
        ("7.0", 32, 32769, 128, 2, &[SharedMemory]),
        // 7.5 has 32 warps: four blocks of 8; 64 regs allow just as many.
        ("7.5", 64, 0, 256, 4, &[Warps, Registers]),
        ("7.5", 32, 0, 64, 16, &[Warps, Blocks]),
        // 8.0: 164 / (20 + 1) = 7 blocks.
        ("8.0", 32, 20480, 128, 7, &[SharedMemory]),
        // 8.6 has 48 warps and 16 blocks: 48 / 3 = 16.
        ("8.6", 40, 0, 96, 16, &[Warps, Blocks, Registers]),
        // 1024 threads are 32 of 48 warps: one block, a third is lost.
        ("8.6", 32, 0, 1024, 1, &[Warps]),
        // 8.9 has 24 blocks: 48 / 2 = 24.
        ("8.9", 32, 0, 64, 24, &[Warps, Blocks]),
        ("12.0", 32, 0, 32, 24, &[Blocks]),
        // 12.0: 100 / (24 + 1) = 4 blocks.
        ("12.0", 48, 24576, 128, 4, &[SharedMemory]),
        ("10.0", 96, 0, 512, 1, &[Registers]),
        // Kepler: 48 KiB / 16 KiB = 3 blocks, no memory of the system.
        ("kepler", 32, 16384, 256, 3, &[SharedMemory]),
        ("maxwell", 32, 0, 64, 32, &[Warps, Blocks, Registers]),
    ];
    for &(arch, registers, shared, block, blocks, limits) in cases {
        let o = machine(arch)
            .occupancy(demand(registers, shared), block)
            .unwrap_or_else(|e| panic!("{arch} {registers} {shared} {block}: {e}"));
        let what = format!("{arch}, {registers} registers, {shared} bytes, {block} threads: {o:?}");
        assert_eq!(o.blocks, blocks, "{what}");
        assert_eq!(o.limited_by, limits, "{what}");
        assert_eq!(o.warps, blocks * block.div_ceil(32), "{what}");
    }
}

#[test]
fn impossible_launches_name_the_limit() {
    let m = machine("9.0");
    let why = |registers, shared, block| {
        m.occupancy(demand(registers, shared), block)
            .expect_err("impossible")
            .to_string()
    };
    assert!(why(32, 0, 0).contains("1 to 1024 threads"));
    assert!(why(32, 0, 1025).contains("1 to 1024 threads"));
    assert!(why(0, 0, 32).contains("1 to 255 registers"));
    assert!(why(256, 0, 32).contains("1 to 255 registers"));
    assert!(why(32, 232449, 32).contains("232448 bytes"));
    assert!(why(32, u64::MAX, 32).contains("232448 bytes"));
    // 128 registers: 4096 a warp, 16 warps fit into 65536.
    assert!(why(128, 0, 1024).contains("enough for 512 threads"));
    // 72 registers: 2304 a warp, 28 fit; 29 warps count as 32.
    assert_eq!(m.occupancy(demand(72, 0), 896).expect("fits").blocks, 1);
    assert!(why(72, 0, 897).contains("enough for 896 threads"));
    let fermi = bundled::find("fermi")
        .expect("known")
        .bundled
        .load()
        .expect("parses");
    let e = Multiprocessor::from_profile(&fermi)
        .expect_err("not all is known")
        .to_string();
    assert!(e.contains("fermi") && e.contains("register_unit"), "{e}");
}

#[test]
fn carve_outs() {
    let m = machine("9.0");
    let at = |carveout, shared| {
        m.occupancy(
            Demand {
                registers: 32,
                shared,
                carveout: Some(carveout),
            },
            128,
        )
    };
    // 25 % of 228 KiB is 57, rounded up to 64: 64 / (7 + 1) = 8 blocks.
    let o = at(25, 7 * 1024).expect("possible");
    assert_eq!((o.shared_of_sm, o.blocks), (64 * 1024, 8));
    // One block needs 33 KiB, more than asked for: 64 serve, one block.
    let o = at(0, 32 * 1024).expect("possible");
    assert_eq!((o.shared_of_sm, o.blocks), (64 * 1024, 1));
    assert_eq!(at(100, 0).expect("possible").shared_of_sm, 228 * 1024);
    assert!(
        at(101, 0)
            .expect_err("beyond")
            .to_string()
            .contains("0 to 100")
    );
    let old = machine("kepler").occupancy(
        Demand {
            carveout: Some(50),
            ..demand(32, 0)
        },
        128,
    );
    assert!(old.expect_err("own memory").to_string().contains("3.5"));
}

#[test]
fn more_of_a_resource_never_helps() {
    for arch in [
        "7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0", "pascal",
    ] {
        let m = machine(arch);
        for block in [1, 32, 96, 128, 250, 512, 1024] {
            let mut before = u32::MAX;
            for registers in 1..=255 {
                let now = m
                    .occupancy(demand(registers, 4096), block)
                    .map_or(0, |o| o.warps);
                assert!(
                    now <= before,
                    "{arch}, {block} threads, {registers} registers"
                );
                before = now;
            }
            let mut before = u32::MAX;
            for shared in (0..=240 * 1024).step_by(509) {
                let now = m
                    .occupancy(demand(24, shared), block)
                    .map_or(0, |o| o.warps);
                assert!(now <= before, "{arch}, {block} threads, {shared} bytes");
                before = now;
            }
            assert_eq!(before, 0, "{arch} has no end of shared memory");
        }
    }
}

#[test]
fn curves_end_where_launches_do() {
    let m = machine("9.0");
    let c = m.curve(demand(128, 0)).expect("possible");
    assert_eq!(c.len(), 16, "16 warps of 128 registers fit");
    assert_eq!(c.last().map(|o| o.block), Some(512));
    let top = best(&c).expect("a curve");
    assert_eq!((top.warps, top.block), (16, 512));
    assert!(
        c.iter()
            .all(|o| o.warps <= top.warps && !o.limited_by.is_empty())
    );
    assert_eq!(m.curve(demand(32, 0)).expect("possible").len(), 32);
    assert!(m.curve(demand(0, 0)).is_err());
}
