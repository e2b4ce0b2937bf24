//! What one operation costs on a device: time on each unit, and latency.
//!
//! A profile's measured throughput of an operation decides. How its time is shared among the units
//! comes from the instructions that the operation is made of. What a profile does not have is derived
//! from the instructions counted on the H200 and this device's own rates, and named as assumed.
use super::Unit;
use kerf_device::bundled;
use kerf_device::profile::{DeviceProfile, OperationProfile, Sass};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Units of a multiprocessor that work side by side.
pub(super) const UNITS: usize = 6;

/// Clocks of a multiprocessor on each unit, by [`Unit`].
pub(super) type Clocks = [f64; UNITS];

/// Cost of one operation of one thread.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    /// Clocks of the whole multiprocessor, by unit.
    pub unit_clocks: Clocks,
    /// Clocks until a dependent operation can start.
    pub latency_clocks: f64,
}

impl Cost {
    pub(super) fn plus(mut self, other: Cost) -> Cost {
        for (a, b) in self.unit_clocks.iter_mut().zip(other.unit_clocks) {
            *a += b;
        }
        self.latency_clocks += other.latency_clocks;
        self
    }
    /// On `n` lanes of a vector: issued one after the other, independent of each other.
    pub(super) fn vector(mut self, n: f64) -> Cost {
        self.unit_clocks.iter_mut().for_each(|c| *c *= n);
        self.latency_clocks += (n - 1.0).max(0.0);
        self
    }
    /// `n` dependent operations.
    pub(super) fn chain(mut self, n: f64) -> Cost {
        self.unit_clocks.iter_mut().for_each(|c| *c *= n);
        self.latency_clocks *= n;
        self
    }
}

/// Rates of a device.
pub(super) struct Rates<'p> {
    profile: &'p DeviceProfile,
    /// A profile with the instructions of each operation, where `profile` does not list them.
    reference: Option<DeviceProfile>,
    costs: RefCell<BTreeMap<String, Cost>>,
    assumed: RefCell<BTreeSet<String>>,
}

/// Functions that no profile has, by operations that profiles have: instructions of libdevice's code on its fast path, counted
/// by hand.
fn composition(function: &str) -> Option<&'static [(&'static str, f64)]> {
    Some(match function {
        "rsqrt" => &[("rsqrt.sfu", 1.0), ("mul", 2.0), ("fma", 3.0)],
        "cbrt" => &[("exp2.sfu", 1.0), ("fma", 12.0), ("mul", 4.0)],
        "hypot" | "rhypot" => &[("sqrt", 1.0), ("fma", 3.0), ("min", 2.0)],
        "norm3d" | "norm4d" | "rnorm3d" | "rnorm4d" => &[("sqrt", 1.0), ("fma", 5.0), ("min", 4.0)],
        "erf" => &[("fma", 28.0), ("exp2", 0.5), ("min", 1.0)],
        "erfc" | "erfcx" | "normcdf" => &[("fma", 34.0), ("exp", 1.0), ("rcp", 1.0)],
        "erfinv" | "erfcinv" | "normcdfinv" => &[("log", 1.0), ("sqrt", 1.0), ("fma", 24.0)],
        "expm1" | "exp10" => &[("exp", 1.0), ("fma", 2.0)],
        "log1p" | "log10" | "logb" => &[("log", 1.0), ("fma", 2.0)],
        "sinh" | "cosh" => &[("exp", 1.0), ("rcp", 1.0), ("fma", 6.0)],
        "asinh" | "acosh" | "atanh" => &[("log", 1.0), ("sqrt", 1.0), ("fma", 4.0)],
        "sinpi" | "cospi" => &[("fma", 12.0), ("mul", 2.0), ("min", 1.0)],
        "sincos" => &[("sin", 1.0), ("cos", 0.6)],
        "sincospi" => &[("fma", 20.0), ("mul", 3.0)],
        "asin" | "acos" => &[("fma", 20.0), ("sqrt", 0.5)],
        "atan" => &[("fma", 22.0), ("rcp", 0.5)],
        "atan2" => &[("fma", 24.0), ("div", 1.0), ("min", 2.0)],
        "lgamma" | "tgamma" => &[("log", 1.0), ("fma", 40.0), ("exp", 0.5)],
        "fmod" | "remainder" | "remquo" | "frem" => &[("div", 1.0), ("fma", 8.0)],
        "powi" => &[("mul", 8.0), ("rcp", 0.5)],
        _ => return None,
    })
}

/// Conversions that the special-function unit does.
fn on_special_unit(opcode: &str) -> bool {
    let packed = opcode.starts_with("I2FP") || opcode.starts_with("F2FP");
    let converts = ["F2F", "F2I", "I2F", "FRND"];
    !packed && converts.iter().any(|p| opcode.starts_with(p))
}

impl<'p> Rates<'p> {
    pub(super) fn from_profile(profile: &'p DeviceProfile) -> Rates<'p> {
        let reference = match profile.operations.values().any(|o| o.sass.is_some()) {
            true => None,
            false => bundled::find("h200").and_then(|f| f.bundled.load().ok()),
        };
        Rates {
            profile,
            reference,
            costs: RefCell::default(),
            assumed: RefCell::default(),
        }
    }

    /// Operations whose cost no figure of the profile gives.
    pub(super) fn assumed(&self) -> Vec<String> {
        self.assumed.borrow().iter().cloned().collect()
    }

    fn operation(&self, key: &str) -> Option<&OperationProfile> {
        self.profile.operations.get(key)
    }

    /// Throughput of a conversion from or to f64 without a figure: that of an f64 addition, at most 16 a clock. So it is wherever
    /// NVIDIA's table has both (2 and 2 for compute capability 8.6 and 8.9; 16 and 32 for 7.0 and 8.0, 16 and 64 for 9.0).
    fn derived_conversion(&self, key: &str) -> Option<f64> {
        let mut ends = key.strip_prefix("convert.")?.split('.');
        let wide = ends.any(|e| e == "f64");
        wide.then(|| self.unit(Unit::F64).min(16.0))
    }

    fn throughput(&self, key: &str) -> Option<f64> {
        let t = self.operation(key)?.throughput.value;
        t.filter(|v| *v > 0.0)
    }

    /// Results per clock of a unit, as probed: the loop of the probe makes it a little less than the hardware's. Without a
    /// figure, the ratios to f32 of NVIDIA's table of arithmetic throughput (CUDA C++ Programming Guide).
    pub(super) fn unit(&self, u: Unit) -> f64 {
        let of = |keys: &[&str]| keys.iter().find_map(|k| self.throughput(k));
        let single = of(&["add.f32", "fma.f32"]).unwrap_or(128.0);
        match u {
            // Four schedulers, each issuing one instruction of 32 threads.
            Unit::Issue => single.max(128.0),
            Unit::F64 => of(&["add.f64", "fma.f64"]).unwrap_or(single / 32.0),
            Unit::F32 => single,
            Unit::Half => of(&["add.f16", "fma.f16"]).unwrap_or(single),
            Unit::Special => {
                of(&["rcp.f32.sfu", "exp2.f32.sfu", "rsqrt.f32.sfu"]).unwrap_or(single / 8.0)
            }
            // Bytes: a warp's 128 a clock.
            Unit::LoadStore => of(&["load.shared"]).map_or(128.0, |t| 4.0 * t),
        }
    }

    /// Time on each unit of the instructions that an operation is made of.
    fn by_instructions(&self, s: &Sass) -> Clocks {
        let converted: f64 = s
            .opcodes
            .iter()
            .filter(|(o, _)| on_special_unit(o))
            .map(|(_, n)| n)
            .sum();
        let mut c = [0.0; UNITS];
        let all = s.sfu + s.sp + s.dp + s.half + s.other;
        c[Unit::Issue as usize] = all / self.unit(Unit::Issue);
        c[Unit::F64 as usize] = s.dp / self.unit(Unit::F64);
        c[Unit::F32 as usize] = s.sp / self.unit(Unit::F32);
        c[Unit::Half as usize] = s.half / self.unit(Unit::Half);
        c[Unit::Special as usize] = (s.sfu + converted) / self.unit(Unit::Special);
        c
    }

    /// The unit that an operation is on, by its name.
    fn unit_of(key: &str) -> Unit {
        let format = key.split('.').nth(1).unwrap_or_default();
        if key.starts_with("convert.") || key.ends_with(".sfu") {
            return Unit::Special;
        }
        match format {
            "f64" | "dw64" => Unit::F64,
            "f16" | "bf16" | "f16x2" | "bf16x2" => Unit::Half,
            _ => Unit::F32,
        }
    }

    fn direct(&self, key: &str) -> Option<Cost> {
        let own = self.operation(key);
        let reference = self.reference.as_ref();
        let reference = reference.and_then(|m| m.operations.get(key));
        let throughput = own.and_then(|o| o.throughput.value).filter(|v| *v > 0.0);
        let throughput = throughput.or_else(|| self.derived_conversion(key));
        let sass = own.or(reference).and_then(|o| o.sass.as_ref());
        let mut unit_clocks = match (sass, throughput) {
            (Some(s), _) => self.by_instructions(s),
            (None, Some(t)) => {
                let mut c = [0.0; UNITS];
                c[Self::unit_of(key) as usize] = 1.0 / t;
                c[Unit::Issue as usize] = 1.0 / self.unit(Unit::Issue);
                c
            }
            (None, None) => return None,
        };
        // Slow paths, tables and dependences are in the measured throughput, not in the instructions.
        let busiest = unit_clocks.iter().copied().fold(0.0, f64::max);
        if let (Some(t), true) = (throughput, busiest > 0.0) {
            let scale = 1.0 / (t * busiest);
            unit_clocks.iter_mut().for_each(|c| *c *= scale);
        }
        if own.and_then(|o| o.throughput.value).is_none() {
            self.assumed.borrow_mut().insert(key.to_owned());
        }
        let latency_clocks = own
            .and_then(|o| o.latency.value)
            .or_else(|| reference.and_then(|o| o.latency.value))
            .unwrap_or(match Self::unit_of(key) {
                Unit::F64 => 8.0,
                Unit::Special => 19.0,
                _ => 4.0,
            });
        Some(Cost {
            unit_clocks,
            latency_clocks,
        })
    }

    /// Cost of an operation by its key. One that neither the profile nor [`composition`] has counts as ten multiply-adds.
    pub(super) fn cost(&self, key: &str) -> Cost {
        if let Some(c) = self.costs.borrow().get(key) {
            return *c;
        }
        let c = self.look_up(key);
        self.costs.borrow_mut().insert(key.to_owned(), c);
        c
    }

    /// Cost of an operation that a figure of the profile gives, or the H200's instructions; none where neither does.
    pub(super) fn known(&self, key: &str) -> Option<Cost> {
        self.direct(key)
    }

    /// A cost by a name, worked out when it is first asked for.
    pub(super) fn remembered(&self, name: &str, cost: impl FnOnce() -> Cost) -> Cost {
        if let Some(c) = self.costs.borrow().get(name) {
            return *c;
        }
        let c = cost();
        self.costs.borrow_mut().insert(name.to_owned(), c);
        c
    }

    fn look_up(&self, key: &str) -> Cost {
        let (function, format) = key.split_once('.').unwrap_or((key, "f64"));
        // The profile's rsqrt is a root and a reciprocal, each rounded; libdevice's is one refinement.
        let composed = || {
            let parts = composition(function)?;
            self.assumed.borrow_mut().insert(key.to_owned());
            let sum = |c: Cost, (part, n): &(&str, f64)| {
                let part = match part.split_once('.') {
                    Some((f, variant)) => format!("{f}.{format}.{variant}"),
                    None => format!("{part}.{format}"),
                };
                // Polynomials are evaluated as two independent halves, roughly.
                let mut one = self.cost(&part).chain(*n);
                if *n > 4.0 {
                    one.latency_clocks /= 2.0;
                }
                c.plus(one)
            };
            Some(parts.iter().fold(Cost::default(), sum))
        };
        if function == "rsqrt" && format == "f32" {
            return self.cost("rsqrt.f32.sfu");
        }
        let found = match function {
            "rsqrt" if !format.contains("sfu") => composed(),
            _ => self.direct(key).or_else(composed),
        };
        found.unwrap_or_else(|| {
            self.assumed.borrow_mut().insert(key.to_owned());
            // Formats of 16 bits without an instruction are computed in f32.
            match format {
                "f16" | "bf16" if self.operation(&format!("{function}.f32")).is_some() => {
                    let widen = self.cost(&format!("convert.{format}.f32"));
                    let narrow = self.cost(&format!("convert.f32.{format}"));
                    self.cost(&format!("{function}.f32"))
                        .plus(widen)
                        .plus(narrow)
                }
                _ if function == "fma" => Cost {
                    unit_clocks: [0.0; UNITS],
                    latency_clocks: 4.0,
                },
                _ => self.cost(&format!("fma.{format}")).chain(10.0),
            }
        })
    }

    /// Cost of `n` instructions on a unit.
    pub(super) fn instructions(&self, u: Unit, n: f64, latency_clocks: f64) -> Cost {
        let mut unit_clocks = [0.0; UNITS];
        unit_clocks[u as usize] = n / self.unit(u);
        unit_clocks[Unit::Issue as usize] = n / self.unit(Unit::Issue);
        Cost {
            unit_clocks,
            latency_clocks,
        }
    }

    /// Unloaded latency of a load from a level of memory (`shared`, `l1`, `l2`, `dram`), in clocks. Without a figure, assumed
    /// to be about what the H200 has (probes: 23, 34, 264 and 647).
    pub(super) fn load_latency(&self, level: &str) -> f64 {
        let key = format!("load.{level}");
        let own = self.operation(&key).and_then(|o| o.latency.value);
        let reference = || self.reference.as_ref()?.operations.get(&key)?.latency.value;
        own.or_else(reference).unwrap_or(match level {
            "shared" => 25.0,
            "l1" => 35.0,
            "l2" => 250.0,
            _ => 600.0,
        })
    }
}

/// What single operations cost on a device, side by side: clocks of a multiprocessor on the unit that each keeps busy
/// the longest.
pub struct OperationClocks<'p>(Rates<'p>);

impl<'p> OperationClocks<'p> {
    /// By a profile.
    pub fn new(profile: &'p DeviceProfile) -> OperationClocks<'p> {
        OperationClocks(Rates::from_profile(profile))
    }

    /// Of an operation, by its name in profiles and its format.
    pub fn get(&self, name: &str, format: kerf_num::Format) -> f64 {
        let cost = self.0.cost(&format!("{name}.{format}"));
        cost.unit_clocks.into_iter().fold(0.0, f64::max)
    }
}
