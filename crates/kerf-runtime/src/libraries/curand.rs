//! cuRAND's host API on the CPU: the generators whose bits are known.
//!
//! Words, uniform numbers and their order are those of NVIDIA's library. Normal, log-normal and Poisson numbers go through functions of the GPU
//! whose last bits are not known to be the same here: they are refused by name, and so are the other generators.
use super::on_cpu::{self, Status, check, explain, wrote};
use crate::state::State;
use kerf_mathlib::random::{Generator, Mrg32k3a, Philox, Xorwow};
use std::ffi::c_void;

/// Statuses of cuRAND.
mod status {
    pub const NOT_INITIALIZED: i32 = 101;
    pub const TYPE_ERROR: i32 = 103;
    pub const OUT_OF_RANGE: i32 = 104;
    pub const LAUNCH_FAILURE: i32 = 201;
    pub const ARCH_MISMATCH: i32 = 204;
}

/// A kind of generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Xorwow,
    Mrg32k3a,
    Philox,
}

/// A generator: its settings, and its state once it was used.
pub struct HostGenerator {
    kind: Kind,
    /// Do its numbers go to memory of the host?
    on_host: bool,
    seed: u64,
    offset: u64,
    is_legacy: bool,
    state: Option<Box<dyn Generator>>,
}

impl HostGenerator {
    /// The state, made with the settings where they have changed.
    fn state(&mut self) -> &mut dyn Generator {
        let (seed, offset) = (self.seed, self.offset);
        let sequences = match self.is_legacy {
            true => Mrg32k3a::LEGACY,
            false => Mrg32k3a::DEFAULT,
        };
        self.state
            .get_or_insert_with(|| match self.kind {
                Kind::Xorwow => Box::new(Xorwow::new(seed, offset)),
                Kind::Mrg32k3a => Box::new(Mrg32k3a::new(seed, offset, sequences)),
                Kind::Philox => Box::new(Philox::new(seed, offset)),
            })
            .as_mut()
    }

    /// Takes the state away, before a setting changes: numbers go on where they were.
    fn reset(&mut self) {
        if let Some(s) = self.state.take() {
            self.offset = s.offset();
        }
    }
}

/// Generators that are not run on the CPU, by CUDA's numbers.
const OTHERS: [(i32, &str); 6] = [
    (141, "MTGP32"),
    (142, "MT19937"),
    (201, "Sobol32"),
    (202, "scrambled Sobol32"),
    (203, "Sobol64"),
    (204, "scrambled Sobol64"),
];

fn kind(number: i32) -> Result<Kind, Status> {
    let other = |n: &i32| OTHERS.iter().find(|o| o.0 == *n);
    match number {
        100 | 101 => Ok(Kind::Xorwow),
        121 => Ok(Kind::Mrg32k3a),
        161 => Ok(Kind::Philox),
        200 => kind(201),
        n => Err(match other(&n) {
            Some((_, name)) => {
                explain(&format!(
                    "the generator {name} is not run on the CPU; XORWOW, MRG32K3A and PHILOX4_32_10 are"
                ));
                status::ARCH_MISMATCH
            }
            None => status::TYPE_ERROR,
        }),
    }
}

fn new(to: *mut u64, number: i32, on_host: bool) -> Status {
    on_cpu::run(|s| {
        let generator = HostGenerator {
            kind: kind(number)?,
            on_host,
            seed: 0,
            offset: 0,
            is_legacy: false,
            state: None,
        };
        if to.is_null() {
            return Err(status::NOT_INITIALIZED);
        }
        let h = s.libraries.handle();
        s.libraries.curand.insert(h, generator);
        // SAFETY: the caller's variable.
        unsafe { to.write(h) };
        Ok(())
    })
}

extern "C" fn create(to: *mut u64, number: i32) -> Status {
    new(to, number, false)
}

extern "C" fn create_host(to: *mut u64, number: i32) -> Status {
    new(to, number, true)
}

extern "C" fn destroy(h: u64) -> Status {
    on_cpu::run(|s| match s.libraries.curand.remove(&h) {
        Some(_) => Ok(()),
        None => Err(status::NOT_INITIALIZED),
    })
}

/// Changes settings of a generator.
fn change(h: u64, f: impl FnOnce(&mut HostGenerator) -> Result<(), Status>) -> Status {
    on_cpu::run(|s| {
        let g = s.libraries.curand.get_mut(&h);
        f(g.ok_or(status::NOT_INITIALIZED)?)
    })
}

extern "C" fn set_stream(h: u64, _stream: *mut c_void) -> Status {
    change(h, |_| Ok(()))
}

extern "C" fn set_seed(h: u64, seed: u64) -> Status {
    change(h, |g| {
        g.reset();
        g.seed = seed;
        Ok(())
    })
}

extern "C" fn set_offset(h: u64, offset: u64) -> Status {
    change(h, |g| {
        g.reset();
        g.offset = offset;
        Ok(())
    })
}

extern "C" fn set_ordering(h: u64, ordering: i32) -> Status {
    change(h, |g| {
        // Best, default and legacy. The others depend on the GPU, or seed each thread by itself.
        let is_legacy = match ordering {
            100 | 101 => false,
            103 => true,
            102 if g.kind == Kind::Xorwow => {
                explain("CURAND_ORDERING_PSEUDO_SEEDED is not run on the CPU");
                return Err(status::ARCH_MISMATCH);
            }
            104 => {
                explain("CURAND_ORDERING_PSEUDO_DYNAMIC depends on the GPU");
                return Err(status::ARCH_MISMATCH);
            }
            _ => return Err(status::OUT_OF_RANGE),
        };
        g.reset();
        g.is_legacy = is_legacy;
        Ok(())
    })
}

/// Fills memory of the host or of the device.
fn generate<T>(
    h: u64,
    to: *mut T,
    n: usize,
    fill: impl FnOnce(&mut dyn Generator, &mut [T]),
) -> Status {
    on_cpu::run(|s: &mut State| {
        let g = s.libraries.curand.get(&h).ok_or(status::NOT_INITIALIZED)?;
        let on_host = g.on_host;
        if n == 0 {
            return Ok(());
        }
        if to.is_null() || !to.is_aligned() {
            return Err(status::LAUNCH_FAILURE);
        }
        let bytes = n.saturating_mul(size_of::<T>());
        if !on_host {
            check(s, "output", to as u64, bytes as u64, status::LAUNCH_FAILURE)?;
        }
        let g = s
            .libraries
            .curand
            .get_mut(&h)
            .ok_or(status::NOT_INITIALIZED)?;
        // SAFETY: memory that was checked, or the caller's own, of numbers that any bytes are.
        fill(g.state(), unsafe { std::slice::from_raw_parts_mut(to, n) });
        if !on_host {
            wrote(s, to as u64, bytes);
        }
        Ok(())
    })
}

extern "C" fn bits(h: u64, to: *mut u32, n: usize) -> Status {
    generate(h, to, n, |g, to| g.bits(to))
}

extern "C" fn uniform(h: u64, to: *mut f32, n: usize) -> Status {
    generate(h, to, n, |g, to| g.uniform(to))
}

extern "C" fn uniform_double(h: u64, to: *mut f64, n: usize) -> Status {
    generate(h, to, n, |g, to| g.uniform_double(to))
}

/// The version whose numbers these are: 10.4.
const VERSION: [i32; 3] = [10, 4, 0];

extern "C" fn get_version(to: *mut i32) -> Status {
    if to.is_null() {
        return status::OUT_OF_RANGE;
    }
    // SAFETY: the caller's variable.
    unsafe { to.write(VERSION[0] * 1000 + VERSION[1] * 100 + VERSION[2]) };
    0
}

extern "C" fn get_property(part: i32, to: *mut i32) -> Status {
    let found = usize::try_from(part).ok().and_then(|i| VERSION.get(i));
    match found {
        Some(v) if !to.is_null() => {
            // SAFETY: the caller's variable.
            unsafe { to.write(*v) };
            0
        }
        _ => status::OUT_OF_RANGE,
    }
}

/// A function of cuRAND; none where the CPU has it not.
pub fn function(name: &str) -> Option<*const c_void> {
    Some(match name.strip_prefix("curand")? {
        "CreateGenerator" => create as *const c_void,
        "CreateGeneratorHost" => create_host as *const c_void,
        "DestroyGenerator" => destroy as *const c_void,
        "SetStream" => set_stream as *const c_void,
        "SetPseudoRandomGeneratorSeed" => set_seed as *const c_void,
        "SetGeneratorOffset" => set_offset as *const c_void,
        "SetGeneratorOrdering" => set_ordering as *const c_void,
        "Generate" => bits as *const c_void,
        "GenerateUniform" => uniform as *const c_void,
        "GenerateUniformDouble" => uniform_double as *const c_void,
        "GetVersion" => get_version as *const c_void,
        "GetProperty" => get_property as *const c_void,
        _ => return None,
    })
}
