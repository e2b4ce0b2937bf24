//! Synthetic launch spaces: kernels on made-up devices, for choosing constants without looking at recorded
//! spaces.
//!
//! Parameters are of the usual kinds: block shape, tile shape, unroll factors, flags, methods. Registers and
//! shared memory follow from them, occupancy from these with its steps, and time from work, reuse,
//! coalescing, latency that too few warps leave open, and a part that nobody can explain. What needs too
//! much fails when it is run; more than 1024 threads are excluded beforehand.
use crate::history::Evaluation;
use crate::outcome::Outcome;
use crate::problem::{Assignment, Level, Problem, Variable};
use crate::recorded::{RecordedError, RecordedSpace};
use crate::rng::Rng;

/// What a parameter does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    BlockX,
    BlockY,
    TileX,
    TileY,
    Unroll,
    /// Shared memory is used.
    Shared,
    /// Padding against bank conflicts; counts with shared memory only.
    Padding,
    /// A flag or method with effects of its own.
    Method,
    /// Vector width.
    Vector,
}

struct Kernel {
    roles: Vec<(Role, Vec<f64>)>,
    /// Effects of methods: for each of their values, alone and with shared memory.
    effects: Vec<Vec<(f64, f64, f64)>>,
    /// Registers: fixed, for an element of a tile, for a step of unrolling.
    registers: [f64; 3],
    halo: f64,
    intensity: f64,
    latency: f64,
    overhead: f64,
    cache: f64,
    row: f64,
    unexplained: f64,
    multiprocessors: f64,
    work: f64,
    seed: u64,
}

fn list(rng: &mut Rng, of: &[&[f64]]) -> Vec<f64> {
    of[rng.below(of.len())].to_vec()
}

fn steps(step: usize, to: usize) -> Vec<f64> {
    (1..=to / step).map(|i| (i * step) as f64).collect()
}

impl Kernel {
    fn new(seed: u64) -> Kernel {
        let mut rng = Rng::new(seed ^ 0x1a0c);
        let mut roles = Vec::new();
        let flat = rng.chance(0.3);
        let (s16, s32, s64) = (steps(16, 256), steps(32, 1024), steps(64, 1024));
        let powers = [
            1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0,
        ];
        roles.push((
            Role::BlockX,
            match flat {
                true => list(&mut rng, &[&s32, &s64, &powers[5..]]),
                false => list(&mut rng, &[&s16, &powers[3..9], &powers[4..]]),
            },
        ));
        if !flat {
            roles.push((
                Role::BlockY,
                list(&mut rng, &[&powers[..5], &powers[..6], &powers[2..6]]),
            ));
        }
        let tiles: [&[f64]; 4] = [
            &[1.0, 2.0, 3.0, 4.0],
            &[1.0, 2.0, 4.0, 8.0],
            &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0],
            &[1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0],
        ];
        roles.push((Role::TileX, list(&mut rng, &tiles)));
        if !flat {
            roles.push((Role::TileY, list(&mut rng, &tiles[..2])));
        }
        if rng.chance(0.7) {
            roles.push((
                Role::Unroll,
                list(&mut rng, &[&powers[..4], &[0.0, 1.0, 2.0, 4.0, 8.0, 16.0]]),
            ));
        }
        if rng.chance(0.7) {
            roles.push((Role::Shared, vec![0.0, 1.0]));
            if rng.chance(0.6) {
                roles.push((Role::Padding, vec![0.0, 1.0]));
            }
        }
        if rng.chance(0.5) {
            roles.push((Role::Vector, vec![1.0, 2.0, 4.0]));
        }
        for _ in 0..rng.below(3) {
            let n = 2 + rng.below(3);
            roles.push((Role::Method, (0..n).map(|i| i as f64).collect()));
        }
        rng.shuffle(&mut roles[1..]);
        let effects = roles
            .iter()
            .map(|(_, values)| {
                let one = |_: &f64| (0.12 * rng.normal(), 0.08 * rng.normal(), 6.0 * rng.unit());
                values.iter().map(one).collect()
            })
            .collect();
        Kernel {
            roles,
            effects,
            registers: [
                14.0 + 20.0 * rng.unit(),
                1.0 + 4.0 * rng.unit(),
                1.0 + 3.0 * rng.unit(),
            ],
            halo: 16.0 * rng.unit(),
            intensity: (1.2 * rng.normal()).exp(),
            latency: 4.0 + 24.0 * rng.unit(),
            overhead: 0.05 + 0.4 * rng.unit(),
            cache: rng.unit(),
            row: 256.0 * 2f64.powi(rng.below(4) as i32),
            unexplained: [0.01, 0.03, 0.08][rng.below(3)],
            multiprocessors: [20.0, 48.0, 82.0, 108.0, 132.0][rng.below(5)],
            work: 2f64.powi(20 + rng.below(5) as i32),
            seed,
        }
    }

    fn value(&self, of: Role, a: &[u8], or: f64) -> f64 {
        let found = self.roles.iter().zip(a).find(|((r, _), _)| *r == of);
        found.map_or(or, |((_, values), l)| values[*l as usize])
    }

    fn exists(&self, a: &[u8]) -> bool {
        let threads = self.value(Role::BlockX, a, 1.0) * self.value(Role::BlockY, a, 1.0);
        let shared = self.value(Role::Shared, a, 1.0) > 0.0;
        let padded = self.value(Role::Padding, a, 0.0) > 0.0;
        (32.0..=1024.0).contains(&threads) && (shared || !padded)
    }

    fn run(&self, a: &[u8]) -> Outcome {
        let (bx, by) = (
            self.value(Role::BlockX, a, 1.0),
            self.value(Role::BlockY, a, 1.0),
        );
        let (tx, ty) = (
            self.value(Role::TileX, a, 1.0),
            self.value(Role::TileY, a, 1.0),
        );
        let unroll = self.value(Role::Unroll, a, 1.0);
        let shared = self.value(Role::Shared, a, 0.0) > 0.0;
        let padded = self.value(Role::Padding, a, 0.0) > 0.0;
        let vector = self.value(Role::Vector, a, 1.0);
        let threads = bx * by;
        let warps = (threads / 32.0).ceil();
        // Methods with effects on time and registers.
        let (mut factor, mut registers) = (0.0, self.registers[0]);
        for (((role, _), l), e) in self.roles.iter().zip(a).zip(&self.effects) {
            if *role == Role::Method {
                let (own, with, more) = e[*l as usize];
                factor += own + if shared { with } else { 0.0 };
                registers += more;
            }
        }
        let elements = tx * ty;
        registers += self.registers[1] * elements * vector.sqrt();
        registers += self.registers[2] * unroll.clamp(1.0, 8.0);
        let spilled = (registers - 255.0).max(0.0);
        let registers = (registers.min(255.0) / 8.0).ceil() * 8.0;
        let bytes = match shared {
            true => {
                4.0 * (bx * tx + self.halo + f64::from(u8::from(padded))) * (by * ty + self.halo)
            }
            false => 0.0,
        };
        if registers * warps * 32.0 > 65536.0 || bytes > 49152.0 {
            return Outcome::Failed;
        }
        let by_registers = (65536.0 / (registers * warps * 32.0)).floor();
        let by_shared = if bytes > 0.0 {
            (100_000.0 / bytes).floor()
        } else {
            32.0
        };
        let blocks = by_registers
            .min(by_shared)
            .min(32.0)
            .min((64.0 / warps).floor());
        if blocks < 1.0 {
            return Outcome::Failed;
        }
        let active = blocks * warps;
        // Instructions for an element: the part that tiles and unrolling share out.
        let shared_out =
            self.overhead / (elements * vector).sqrt() + 0.3 * self.overhead / unroll.max(0.7);
        let thrash = 0.02 * (unroll * elements / 64.0).max(0.0);
        let compute = self.intensity * (1.0 + shared_out + thrash + 0.05 * spilled);
        // Bytes for an element: halo, coalescing, bank conflicts, misses.
        let reuse = match shared {
            true => (1.0 + self.halo / (bx * tx)) * (1.0 + self.halo / (by * ty)),
            false => 1.0 + (self.halo / 8.0) * (1.0 - 0.6 * self.cache) / (1.0 + elements.ln()),
        };
        let line = (bx * vector).min(32.0);
        let coalesced = 1.0 + 0.8 * (32.0 / line - 1.0) * (1.0 - 0.5 * self.cache);
        let odd = match bx % 32.0 == 0.0 {
            true => 1.0,
            false => 1.15,
        };
        let strided = if !shared && tx > 1.0 {
            1.0 + 0.1 * (tx - 1.0).min(7.0) * (1.0 - self.cache)
        } else {
            1.0
        };
        let conflicts = match shared && !padded && bx % 32.0 != 0.0 {
            true => 1.25,
            false => 1.0,
        };
        let memory = reuse * coalesced * odd * strided;
        let parallel = active * (elements * vector).sqrt().min(4.0);
        let hidden = parallel / (parallel + self.latency);
        // Whole waves of blocks, over a grid that the tiles cover in full.
        let wide = (self.row / (bx * tx)).ceil() * bx * tx / self.row;
        let grid = (self.work / (threads * elements)).ceil();
        let per_wave = self.multiprocessors * blocks;
        let waves = (grid / per_wave).ceil() * per_wave / grid;
        let full = warps * 32.0 / threads;
        let busy = (compute.powi(4) + memory.powi(4)).powf(0.25) * conflicts * full;
        let mut h = self.seed ^ 0xfeed;
        for l in a {
            h = (h ^ u64::from(*l) ^ 0x100).wrapping_mul(0x0100_0000_01b3);
        }
        let odds = (self.unexplained * Rng::new(h).normal()).exp();
        Outcome::ran(
            0.0,
            busy / hidden * waves.min(4.0) * wide * factor.exp() * odds,
        )
    }
}

/// A variable whose levels are numbers.
pub(crate) fn numbers(name: String, values: &[f64]) -> Variable {
    let level = |x: &f64| Level {
        value: Some(*x),
        ..Level::named(x.to_string())
    };
    Variable::new(name, values.iter().map(level).collect())
}

/// All points of a space that `outcome` has one for, at most `most` of them, by chance.
pub(crate) fn tabulated(
    name: String,
    variables: Vec<Variable>,
    seed: u64,
    most: usize,
    outcome: impl Fn(&Assignment) -> Option<Outcome>,
) -> Result<RecordedSpace, RecordedError> {
    let mut outcomes = Vec::new();
    let mut a: Assignment = vec![0; variables.len()];
    'all: loop {
        if let Some(outcome) = outcome(&a) {
            outcomes.push(Evaluation {
                outcome,
                assignment: a.clone(),
            });
        }
        for (l, v) in a.iter_mut().zip(&variables) {
            *l += 1;
            if (*l as usize) < v.levels.len() {
                continue 'all;
            }
            *l = 0;
        }
        break;
    }
    if outcomes.len() > most {
        let mut rng = Rng::new(seed);
        rng.shuffle(&mut outcomes);
        outcomes.truncate(most);
    }
    let problem = Problem {
        points: None,
        ..Problem::categorical(variables, Vec::new())
    };
    RecordedSpace::new(name, problem, outcomes)
}

/// A launch space by seed, with all its outcomes; not larger than `most` points.
pub fn launch_space(seed: u64, most: usize) -> Result<RecordedSpace, RecordedError> {
    let kernel = Kernel::new(seed);
    let roles = kernel.roles.iter().enumerate();
    let variables = roles
        .map(|(i, (role, values))| numbers(format!("{role:?}{i}"), values))
        .collect();
    tabulated(
        format!("synthetic launch {seed}"),
        variables,
        seed,
        most,
        |a| kernel.exists(a).then(|| kernel.run(a)),
    )
}
