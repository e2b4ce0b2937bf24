//! What a kernel is to contain, drawn before any of its text.

use super::body::Type;
use super::random::Random;

/// The launch shape of a kernel and the features it is to have.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) block: [u32; 3],
    pub(super) grid: [u32; 3],
    /// The floating-point formats with arithmetic, never empty.
    pub(super) floats: Vec<Type>,
    pub(super) math: bool,
    pub(super) approx: bool,
    pub(super) shared: bool,
    pub(super) atomics: bool,
    pub(super) shuffle: bool,
    pub(super) loops: bool,
    pub(super) branches: bool,
    pub(super) local_arrays: bool,
    pub(super) vector_loads: bool,
    pub(super) calls: bool,
    pub(super) recursion: bool,
    /// The number of floating-point instructions after which the kernel comes to its end.
    pub(super) float_instructions: usize,
}

/// Block shapes, with their weights. The last ones are no multiple of a warp.
const BLOCKS: [(usize, [u32; 3]); 20] = [
    (6, [32, 1, 1]),
    (6, [64, 1, 1]),
    (5, [96, 1, 1]),
    (6, [128, 1, 1]),
    (5, [256, 1, 1]),
    (3, [8, 8, 1]),
    (2, [16, 8, 1]),
    (2, [32, 4, 1]),
    (2, [16, 16, 1]),
    (2, [4, 24, 1]),
    (3, [16, 4, 2]),
    (2, [4, 4, 4]),
    (2, [8, 4, 4]),
    (1, [2, 3, 16]),
    (1, [24, 1, 1]),
    (1, [40, 1, 1]),
    (1, [100, 1, 1]),
    (1, [5, 7, 1]),
    (1, [3, 3, 3]),
    (1, [6, 2, 3]),
];

impl Plan {
    pub(super) fn draw(random: &mut Random) -> Plan {
        let block = random.weighted(&BLOCKS);
        let block_threads: u32 = block.iter().product();
        let mut floats = Vec::new();
        let mut approx = random.chance(63);
        let kind = random.weighted(&[(82, 0), (10, 1), (8, 2)]);
        // A tenth of the kernels keeps to one format, so that a fault in it stands alone.
        match kind {
            0 => {
                for (ty, percent) in [(Type::F64, 85), (Type::F32, 80), (Type::F16, 46)] {
                    if random.chance(percent) {
                        floats.push(ty);
                    }
                }
            }
            1 => floats.push(Type::F64),
            _ => floats.push(random.choose(&[Type::F32, Type::F16])),
        }
        if floats.is_empty() {
            floats.push(Type::F64);
        }
        if floats == [Type::F16] {
            // There are no calls of math functions in binary16.
            approx = false;
        }
        let math = approx || (floats != [Type::F16] && random.chance(60));
        let shared = random.chance(45);
        let calls = random.chance(35);
        let grid = Self::draw_grid(random, block_threads);
        let threads = block_threads * grid.iter().product::<u32>();
        Plan {
            block,
            grid,
            floats,
            math,
            approx,
            shared,
            atomics: shared && random.chance(45),
            shuffle: block_threads.is_multiple_of(32) && random.chance(45),
            loops: random.chance(60),
            branches: random.chance(60),
            local_arrays: random.chance(30),
            vector_loads: threads.is_multiple_of(4) && random.chance(30),
            calls,
            recursion: calls && random.chance(40),
            float_instructions: random.within(18, 48),
        }
    }

    /// A grid of up to eight blocks and up to 1024 threads in all.
    fn draw_grid(random: &mut Random, block_threads: u32) -> [u32; 3] {
        let most = (1024 / block_threads).min(8) as usize;
        let blocks = random.within(1, most) as u32;
        match random.below(4) {
            0 if blocks.is_multiple_of(2) => [2, blocks / 2, 1],
            1 if blocks.is_multiple_of(4) => [blocks / 4, 2, 2],
            2 => [1, 1, blocks],
            _ => [blocks, 1, 1],
        }
    }

    pub(super) fn block_threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub(super) fn threads(&self) -> u32 {
        self.block_threads() * self.grid.iter().product::<u32>()
    }

    /// A format with arithmetic.
    pub(super) fn float(&self, random: &mut Random) -> Type {
        random.choose(&self.floats)
    }

    /// A type with arithmetic, `i32` in a fifth of the cases.
    pub(super) fn any(&self, random: &mut Random) -> Type {
        if random.chance(20) {
            Type::I32
        } else {
            self.float(random)
        }
    }
}
