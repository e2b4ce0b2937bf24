//! Tuning spaces of kernels that are often tuned, with their parameters and constraints: matrix product, stencil in
//! time, dedispersion, sum. Times come from a model of a made-up device, with effects that no parameter
//! explains; what needs too many registers or too much shared memory fails when it is run.
//!
//! For choosing rules of strategies without looking at recorded spaces. Parameters are as the kernels' authors
//! publish them (Nugteren's CLBlast for the matrix product, van Werkhoven's Kernel Tuner examples for the
//! stencil and for dedispersion); no time is theirs.
use crate::outcome::Outcome;
use crate::recorded::{RecordedError, RecordedSpace};
use crate::rng::Rng;
use crate::synthetic_launch::{numbers, tabulated};

/// The families.
pub const FAMILIES: [&str; 4] = ["gemm", "hotspot", "dedispersion", "reduction"];

/// A made-up device and what is left to chance of a kernel.
struct Machine {
    multiprocessors: f64,
    shared: f64,
    /// Arithmetic over bandwidth.
    balance: f64,
    latency: f64,
    unexplained: f64,
    /// Effects of flags: alone and, in the second half, together with the first flag.
    flags: Vec<f64>,
    base: f64,
    seed: u64,
}

impl Machine {
    fn new(family: &str, seed: u64) -> Machine {
        let salt = family.bytes().fold(17u64, |h, b| h * 31 + u64::from(b));
        let mut rng = Rng::new(seed ^ salt.wrapping_mul(0x9e37_79b9));
        Machine {
            multiprocessors: [28.0, 46.0, 84.0, 108.0, 132.0][rng.below(5)],
            shared: [49152.0, 65536.0, 102_400.0, 167_936.0][rng.below(4)],
            balance: (0.6 * rng.normal()).exp(),
            latency: 6.0 + 20.0 * rng.unit(),
            unexplained: [0.01, 0.03, 0.06][rng.below(3)],
            flags: (0..16).map(|_| 0.12 * rng.normal()).collect(),
            base: 18.0 + 16.0 * rng.unit(),
            seed,
        }
    }

    /// Warps that hide latency; none if a block does not fit.
    fn warps(&self, threads: f64, registers: f64, bytes: f64) -> Option<f64> {
        let warps = (threads / 32.0).ceil();
        let registers = (registers.min(255.0) / 8.0).ceil() * 8.0;
        let by_registers = (65536.0 / (registers * warps * 32.0)).floor();
        let by_shared = match bytes > 0.0 {
            true => (self.shared / bytes).floor(),
            false => 32.0,
        };
        let most = (64.0 / warps).floor().min(32.0);
        let blocks = by_registers.min(by_shared).min(most);
        (blocks >= 1.0 && bytes <= 49152.0).then_some(blocks * warps)
    }

    fn flag(&self, n: usize, on: bool, with: bool) -> f64 {
        match on {
            false => 0.0,
            true => self.flags[n] + if with { self.flags[n + 8] } else { 0.0 },
        }
    }

    /// Work and bytes of an element as a time, where `active` warps with so much to do at once hide latency.
    fn time(&self, work: f64, bytes: f64, active: f64, parallel: f64, blocks: f64) -> f64 {
        let busy = ((work * self.balance).powi(4) + bytes.powi(4)).powf(0.25);
        let ready = active * parallel;
        let hidden = ready / (ready + self.latency);
        let waves = (blocks / self.multiprocessors).max(0.05);
        busy / hidden * waves.ceil().max(1.0) / waves.max(1.0).max(0.25 * waves.ceil())
    }

    fn odds(&self, a: &[u8]) -> f64 {
        let mut h = self.seed ^ 0xbead;
        for l in a {
            h = (h ^ u64::from(*l) ^ 0x100).wrapping_mul(0x0100_0000_01b3);
        }
        (self.unexplained * Rng::new(h).normal()).exp()
    }
}

type Parameters = Vec<(&'static str, Vec<f64>)>;

fn values(of: &[f64]) -> Vec<f64> {
    of.to_vec()
}

fn parameters(family: &str) -> Parameters {
    let on = || values(&[0.0, 1.0]);
    match family {
        "gemm" => vec![
            ("MWG", values(&[16.0, 32.0, 64.0, 128.0])),
            ("NWG", values(&[16.0, 32.0, 64.0, 128.0])),
            ("KWG", values(&[16.0, 32.0])),
            ("MDIMC", values(&[8.0, 16.0, 32.0])),
            ("NDIMC", values(&[8.0, 16.0, 32.0])),
            ("VWM", values(&[1.0, 2.0, 4.0, 8.0])),
            ("VWN", values(&[1.0, 2.0, 4.0, 8.0])),
            ("SA", on()),
            ("SB", on()),
        ],
        "hotspot" => vec![
            (
                "block_size_x",
                values(&[8.0, 16.0, 32.0, 64.0, 128.0, 256.0]),
            ),
            ("block_size_y", values(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0])),
            ("tile_size_x", values(&[1.0, 2.0, 3.0, 4.0, 6.0, 8.0])),
            ("tile_size_y", values(&[1.0, 2.0, 3.0, 4.0, 6.0, 8.0])),
            ("temporal_tiling", values(&[1.0, 2.0, 3.0, 4.0, 6.0, 8.0])),
            ("loop_unroll_factor_t", values(&[1.0, 2.0, 4.0])),
            ("sh_power", on()),
        ],
        "dedispersion" => vec![
            (
                "block_size_x",
                values(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]),
            ),
            ("block_size_y", values(&[4.0, 8.0, 16.0, 32.0, 64.0, 128.0])),
            ("tile_size_x", values(&[1.0, 2.0, 3.0, 4.0, 8.0, 16.0])),
            ("tile_size_y", values(&[1.0, 2.0, 4.0, 8.0])),
            ("tile_stride_x", on()),
            ("tile_stride_y", on()),
            (
                "loop_unroll_factor_channel",
                values(&[0.0, 1.0, 2.0, 4.0, 8.0]),
            ),
        ],
        _ => vec![
            (
                "block_size_x",
                (1..=32).map(|i| 32.0 * f64::from(i)).collect(),
            ),
            ("vector", values(&[1.0, 2.0, 4.0])),
            ("loop_unroll_factor", values(&[0.0, 1.0, 2.0, 4.0, 8.0])),
            ("use_shuffle", on()),
            ("num_blocks", (5..=12).map(|i| f64::from(1 << i)).collect()),
        ],
    }
}

/// Whether the constraints let a point exist.
fn exists(family: &str, v: &[f64]) -> bool {
    match family {
        "gemm" => {
            let [m, n, k, mc, nc, vm, vn, ..] = *v else {
                return false;
            };
            let divides = |a: f64, b: f64| a % b == 0.0;
            divides(m, mc * vm)
                && divides(n, nc * vn)
                && mc * nc <= 1024.0
                && divides(k * m, mc * nc)
        }
        "hotspot" => (32.0..=1024.0).contains(&(v[0] * v[1])) && v[4] % v[5] == 0.0,
        "dedispersion" => {
            let threads = v[0] * v[1];
            // A stride means something for tiles only.
            (32.0..=1024.0).contains(&threads)
                && (v[2] > 1.0 || v[4] == 0.0)
                && (v[3] > 1.0 || v[5] == 0.0)
        }
        _ => true,
    }
}

fn run(family: &str, m: &Machine, v: &[f64]) -> Option<f64> {
    Some(match family {
        "gemm" => {
            let [mwg, nwg, kwg, mc, nc, vm, vn, sa, sb] = *v else {
                return None;
            };
            let (threads, each) = (mc * nc, mwg * nwg / (mc * nc));
            let registers = m.base + 1.15 * each + 1.5 * (vm + vn);
            if registers > 400.0 {
                return None;
            }
            let spilled = (registers - 255.0).max(0.0);
            let bytes = 4.0 * kwg * (sa * mwg + sb * nwg);
            let active = m.warps(threads, registers, bytes)?;
            let flags = m.flag(0, sa > 0.0, false) + m.flag(1, sb > 0.0, sa > 0.0);
            let loads = (1.0 / mwg * if sb > 0.0 { 1.0 } else { 1.8 })
                + (1.0 / nwg * if sa > 0.0 { 1.0 } else { 1.8 });
            let coalesced = 1.0 + 1.5 / (mc * vm).min(32.0);
            let work = 1.0 + 3.0 / each + 0.25 / vm + 0.25 / vn + 0.02 * spilled + 1.5 / kwg;
            let blocks = (2048.0 / mwg) * (2048.0 / nwg);
            m.time(
                work,
                24.0 * loads * coalesced,
                active,
                each.sqrt().min(6.0),
                blocks,
            ) * flags.exp()
        }
        "hotspot" => {
            let [bx, by, tx, ty, t, unroll, power] = *v else {
                return None;
            };
            let (threads, each) = (bx * by, tx * ty);
            let (wide, high) = (bx * tx, by * ty);
            let (inner_x, inner_y) = (wide - 2.0 * t, high - 2.0 * t);
            if inner_x < 1.0 || inner_y < 1.0 {
                return None;
            }
            let again = wide * high / (inner_x * inner_y);
            let bytes = 4.0 * wide * high * (1.0 + power);
            let registers = m.base + 2.2 * each + 2.0 * unroll;
            let active = m.warps(threads, registers, bytes)?;
            let work = again * (1.0 + 0.6 / each + 0.12 / unroll + 0.03 * unroll);
            let coalesced = 1.0 + 0.6 * (32.0 / bx.min(32.0) - 1.0).sqrt();
            let traffic = again * coalesced * (3.0 - 0.5 * power) / t;
            let blocks = 4096.0 * 4096.0 / (inner_x * inner_y);
            m.time(work, traffic, active, each.sqrt().min(3.0), blocks)
                * m.flag(2, power > 0.0, t > 2.0).exp()
        }
        "dedispersion" => {
            let [bx, by, tx, ty, sx, sy, unroll] = *v else {
                return None;
            };
            let each = tx * ty;
            let registers = m.base + 2.6 * each + 1.8 * unroll.max(1.0);
            if registers > 330.0 {
                return None;
            }
            let active = m.warps(bx * by, registers, 0.0)?;
            let strided = (1.0 + 0.15 * (tx - 1.0).min(4.0) * (1.0 - sx))
                * (1.0 + 0.05 * (ty - 1.0) * (1.0 - sy));
            let reuse = 0.25 + 0.75 / (by * ty).sqrt();
            let coalesced = 1.0 + 0.5 * (32.0 / bx.min(32.0) - 1.0);
            let work = 1.0 + 0.7 / each + 0.2 / unroll.max(0.6) + 0.01 * unroll * each / 8.0;
            let blocks = (25600.0 / (bx * tx)) * (2048.0 / (by * ty));
            let flags = m.flag(3, sx > 0.0, false) + m.flag(4, sy > 0.0, sx > 0.0);
            m.time(
                work,
                2.0 * reuse * coalesced * strided,
                active,
                each.sqrt(),
                blocks,
            ) * flags.exp()
        }
        _ => {
            let [bx, vector, unroll, shuffle, blocks] = *v else {
                return None;
            };
            let registers = m.base * 0.6 + 2.0 * vector * unroll.max(1.0);
            let bytes = if shuffle > 0.0 {
                128.0
            } else {
                4.0 * bx * vector
            };
            let active = m.warps(bx, registers, bytes)?;
            let filled = (blocks * bx / 32.0 / (m.multiprocessors * active)).min(1.0);
            let tail = 1.0 + blocks / 20000.0 + bx / 16000.0;
            let idle = 1.0 + 0.06 * (bx / 32.0).rem_euclid(4.0).min(1.0);
            let work = 0.3 + 0.3 / unroll.max(0.7) + 0.02 * bx.log2() * (2.0 - shuffle);
            let ready = vector * unroll.clamp(1.0, 4.0).sqrt();
            let flags = m.flag(5, shuffle > 0.0, vector > 2.0);
            m.time(work, 1.0 + 0.2 / vector, active * filled, ready, 1e6)
                * tail
                * idle
                * flags.exp()
                / filled.sqrt()
        }
    })
}

/// A space of a family by seed, with all its outcomes; not larger than `most` points.
pub fn kernel_space(family: &str, seed: u64, most: usize) -> Result<RecordedSpace, RecordedError> {
    let all = parameters(family);
    let machine = Machine::new(family, seed);
    let variables = all
        .iter()
        .map(|(name, values)| numbers((*name).to_owned(), values))
        .collect();
    tabulated(format!("{family} {seed}"), variables, seed, most, |a| {
        let v: Vec<f64> = all.iter().zip(a).map(|(p, l)| p.1[*l as usize]).collect();
        exists(family, &v).then(|| {
            run(family, &machine, &v)
                .map(|t| t * machine.odds(a))
                .map_or(Outcome::Failed, |t| Outcome::ran(0.0, t))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_have_failures_and_a_spread() {
        for family in FAMILIES {
            for seed in 0..3 {
                let r = kernel_space(family, seed, usize::MAX).expect("a space");
                let points = r.problem.points.as_ref().expect("listed");
                assert!(points.len() >= 900, "{family}: {}", points.len());
                let best = r.optimum().expect("an optimum");
                let times: Vec<f64> = points.iter().filter_map(|p| r.outcome(p).time()).collect();
                let mut sorted = times.clone();
                sorted.sort_by(f64::total_cmp);
                let middle = sorted[sorted.len() / 2];
                assert!(
                    best > 0.0 && middle > 1.2 * best,
                    "{family} {seed}: {middle} {best}"
                );
                assert!(times.iter().all(|t| t.is_finite()));
                // Few are near the optimum, or any search would do.
                let near = times.iter().filter(|t| **t < 1.02 * best).count();
                assert!(
                    near * 40 < times.len(),
                    "{family} {seed}: {near} of {}",
                    times.len()
                );
            }
        }
    }
}
