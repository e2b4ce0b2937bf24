//! Inputs at the edges of a format: zeros, NaN, infinities, subnormal and huge numbers, cancellation.
//!
//! They replace what a generator draws (`uniform`, `normal`, `log_uniform`, `linear`) in floating-point scalars. What a
//! file, a list, a constant or an expression gives is left alone: its values may be indices, coefficients or a structure that
//! kernels rely on. Integers are never changed.
use super::perturb::format_of;
use super::philox::Stream;
use crate::elem::ElemType;
use crate::workload::{BufferSpec, Init};
use kerf_num::Format;
use serde::{Deserialize, Serialize};

/// Values that take the place of generated ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpecialValues {
    /// Zero everywhere, of both signs.
    Zeros,
    /// One everywhere.
    Ones,
    /// The first generated value everywhere.
    Constant,
    /// NaN in one of about 16 values, and always in the first and the last.
    Nan,
    /// An infinity of either sign in one of about 16 values, and always in the first and the last.
    Infinite,
    /// Subnormal numbers everywhere.
    Subnormal,
    /// Numbers whose squares are near the largest of the format.
    Huge,
    /// Magnitudes from the square root of the smallest to the square root of the largest of the format, evenly by logarithm.
    Mixed,
    /// Each second value is its neighbour's negative.
    Cancelling,
    /// Signs at random.
    Signs,
}

impl SpecialValues {
    /// All of them, in the order in which they are tried.
    pub const ALL: [SpecialValues; 10] = [
        SpecialValues::Zeros,
        SpecialValues::Ones,
        SpecialValues::Constant,
        SpecialValues::Nan,
        SpecialValues::Infinite,
        SpecialValues::Subnormal,
        SpecialValues::Huge,
        SpecialValues::Mixed,
        SpecialValues::Cancelling,
        SpecialValues::Signs,
    ];

    /// Its name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            SpecialValues::Zeros => "zeros",
            SpecialValues::Ones => "ones",
            SpecialValues::Constant => "constant",
            SpecialValues::Nan => "nan",
            SpecialValues::Infinite => "infinite",
            SpecialValues::Subnormal => "subnormal",
            SpecialValues::Huge => "huge",
            SpecialValues::Mixed => "mixed",
            SpecialValues::Cancelling => "cancelling",
            SpecialValues::Signs => "signs",
        }
    }

    /// The value that takes the place of `x`, the `i`-th of `count`; `before` is what took the place of the one before.
    fn value(self, x: f64, before: f64, draw: &Draw) -> f64 {
        let Draw { i, count, bits, f } = *draw;
        let rare = i == 0 || i + 1 == count || bits & 15 == 0;
        let sign = if bits >> 8 & 1 == 0 { 1.0 } else { -1.0 };
        let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
        let (bottom, top) = (f.min_exponent(), f.max_exponent());
        match self {
            SpecialValues::Zeros => 0.0 * sign,
            SpecialValues::Ones => 1.0,
            SpecialValues::Constant => match i {
                0 => x,
                _ => before,
            },
            SpecialValues::Nan if rare => f64::NAN,
            SpecialValues::Infinite if rare => sign * f64::INFINITY,
            SpecialValues::Nan | SpecialValues::Infinite => x,
            SpecialValues::Subnormal => sign * unit * f.min_normal(),
            SpecialValues::Huge => sign * (1.0 + unit) * power_of_two(top / 2 - 4),
            SpecialValues::Mixed => {
                let range = (top - bottom) as u64 / 2;
                let exponent = bottom / 2 + ((bits >> 32) % range) as i32;
                sign * power_of_two(exponent) * (1.0 + (bits >> 16 & 15) as f64 / 16.0)
            }
            SpecialValues::Cancelling => match i % 2 {
                0 => x,
                _ => -before,
            },
            SpecialValues::Signs => sign * x,
        }
    }
}

/// 2 to a power within the normal numbers of f64.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// What a value is drawn from.
struct Draw {
    i: u64,
    count: u64,
    bits: u64,
    f: Format,
}

/// How inputs differ from those that the workload generates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputChange {
    /// Values in place of generated ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<SpecialValues>,
    /// Each finite floating-point value is moved by one unit in its last place, up or down at random: how much a result
    /// moves with that says how well conditioned it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nudged: bool,
}

/// Whether a generator draws the value, so that another may take its place.
fn is_drawn(init: &Init) -> bool {
    matches!(
        init,
        Init::Uniform { .. } | Init::Normal { .. } | Init::LogUniform { .. } | Init::Linear { .. }
    )
}

/// Byte offset and format of each floating-point scalar of an element whose values are drawn.
fn drawn_scalars(b: &BufferSpec) -> Vec<(usize, Format)> {
    let floats = |elem: &ElemType, base: usize| -> Vec<(usize, Format)> {
        let all = elem.scalars().into_iter();
        all.filter_map(|(at, s)| Some((base + at, format_of(s)?)))
            .collect()
    };
    match (&b.init, &b.elem) {
        (Init::Fields(inits), ElemType::Struct(fields)) => {
            let places = fields.iter().zip(b.elem.field_offsets());
            let each = inits.iter().zip(places);
            each.filter(|(i, _)| is_drawn(i))
                .flat_map(|(_, (field, offset))| floats(field, offset))
                .collect()
        }
        (init, elem) if is_drawn(init) => floats(elem, 0),
        _ => Vec::new(),
    }
}

fn read(bytes: &[u8], f: Format) -> f64 {
    let mut b = [0u8; 8];
    b[..f.bytes()].copy_from_slice(&bytes[..f.bytes()]);
    f.decode(u64::from_le_bytes(b))
}

fn write(bytes: &mut [u8], f: Format, x: f64) {
    let new = f.encode(f.round(x)).to_le_bytes();
    bytes[..f.bytes()].copy_from_slice(&new[..f.bytes()]);
}

impl InputChange {
    /// Whether a buffer has values that this changes.
    pub fn concerns(&self, b: &BufferSpec) -> bool {
        let floats = b
            .elem
            .scalars()
            .into_iter()
            .any(|s| format_of(s.1).is_some());
        self.values.is_some() && !drawn_scalars(b).is_empty() || self.nudged && floats
    }

    /// Changes the first content of a buffer, which is `bytes`.
    pub fn apply(&self, b: &BufferSpec, seed: u64, bytes: &mut [u8]) {
        let stream = Stream::named(seed, &b.name).branch(0x5bec);
        let size = b.elem.size().max(1);
        if let Some(values) = self.values {
            let count = (bytes.len() / size) as u64;
            for (k, (at, f)) in drawn_scalars(b).into_iter().enumerate() {
                let mut before = 0.0;
                for (i, e) in bytes.chunks_exact_mut(size).enumerate() {
                    let i = i as u64;
                    let bits = stream.bits(i, k as u32).0;
                    let draw = Draw { i, count, bits, f };
                    before = values.value(read(&e[at..], f), before, &draw);
                    write(&mut e[at..], f, before);
                }
            }
        }
        if self.nudged {
            let floats = b.elem.scalars().into_iter();
            let floats = floats.filter_map(|(at, s)| Some((at, format_of(s)?)));
            for (k, (at, f)) in floats.enumerate() {
                for (i, e) in bytes.chunks_exact_mut(size).enumerate() {
                    let x = read(&e[at..], f);
                    let up = stream.bits(i as u64, 64 + k as u32).0 & 1 == 1;
                    nudge(&mut e[at..], f, x, up);
                }
            }
        }
    }
}

/// Moves a finite number that is not zero to a neighbour: one more or one less as an integer of its bits, which is the next
/// magnitude of the same sign.
fn nudge(bytes: &mut [u8], f: Format, x: f64, up: bool) {
    if x == 0.0 || !x.is_finite() {
        return;
    }
    let mut b = [0u8; 8];
    b[..f.bytes()].copy_from_slice(&bytes[..f.bytes()]);
    let bits = u64::from_le_bytes(b);
    let moved = if up { bits + 1 } else { bits - 1 };
    if f.decode(moved).is_finite() {
        bytes[..f.bytes()].copy_from_slice(&moved.to_le_bytes()[..f.bytes()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::workload::{Defined, Workload};

    fn buffers(text: &str) -> Vec<BufferSpec> {
        let head = "source = \"k.cu\"\n[sizes]\nn = 64\n";
        let tail = "\n[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\nargs = []\n";
        let text = format!("{head}{text}{tail}");
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("k.cu"), "").unwrap();
        let w = Workload::parse(&text, &dir.path().join("w.toml"), &[]).expect("a workload");
        w.buffers
    }

    fn changed(b: &BufferSpec, values: SpecialValues) -> Vec<f64> {
        let mut bytes = generate(b, 7, &[]).expect("contents");
        let change = InputChange {
            values: Some(values),
            nudged: false,
        };
        change.apply(b, 7, &mut bytes);
        bytes
            .chunks_exact(4)
            .map(|c| read(c, Format::F32))
            .collect()
    }

    #[test]
    fn drawn_floats_change_and_nothing_else() {
        let all = buffers(
            "[[buffer]]\nname = \"x\"\ntype = \"f32\"\nlen = \"n\"\ninit = { uniform = [1.0, 2.0] }\n\
             [[buffer]]\nname = \"c\"\ntype = \"f32\"\nlen = \"n\"\ninit = { constant = 3.0 }\n\
             [[buffer]]\nname = \"i\"\ntype = \"i32\"\nlen = \"n\"\ninit = { uniform = [0, 9] }\n\
             [[buffer]]\nname = \"y\"\ntype = \"f32\"\nlen = \"n\"\noutput = true\n",
        );
        assert_eq!(all[3].defined, Defined::AssumedZero);
        for values in SpecialValues::ALL {
            let change = InputChange {
                values: Some(values),
                nudged: false,
            };
            let concerned: Vec<bool> = all.iter().map(|b| change.concerns(b)).collect();
            assert_eq!(concerned, [true, false, false, false]);
            for b in &all[1..] {
                let before = generate(b, 7, &[]).expect("contents");
                let mut after = before.clone();
                change.apply(b, 7, &mut after);
                assert_eq!(before, after, "{} in {}", values.name(), b.name);
            }
        }
        let x = |values| changed(&all[0], values);
        assert!(x(SpecialValues::Zeros).iter().all(|v| *v == 0.0));
        assert!(x(SpecialValues::Ones).iter().all(|v| *v == 1.0));
        let constant = x(SpecialValues::Constant);
        assert!(
            constant
                .iter()
                .all(|v| *v == constant[0] && (1.0..2.0).contains(v))
        );
        let nan = x(SpecialValues::Nan);
        let count = nan.iter().filter(|v| v.is_nan()).count();
        assert!(
            nan[0].is_nan() && nan[63].is_nan() && (2..32).contains(&count),
            "{count}"
        );
        let infinite = x(SpecialValues::Infinite);
        assert!(infinite[0].is_infinite() && infinite.iter().any(|v| v.is_finite()));
        let small = x(SpecialValues::Subnormal);
        assert!(small.iter().all(|v| v.abs() < Format::F32.min_normal()));
        assert!(small.iter().any(|v| *v != 0.0));
        let huge = x(SpecialValues::Huge);
        assert!(
            huge.iter().all(|v| v.abs() > 1e15 && v * v < 1e37),
            "{huge:?}"
        );
        let pairs = x(SpecialValues::Cancelling);
        assert!(pairs.chunks(2).all(|p| p[0] == -p[1] && p[0] > 0.0));
        let mixed = x(SpecialValues::Mixed);
        let (least, most) = mixed.iter().fold((f64::MAX, 0f64), |(l, m), v| {
            (l.min(v.abs()), m.max(v.abs()))
        });
        assert!(most / least > 1e20, "{least} {most}");
    }

    #[test]
    fn a_nudge_is_one_unit_in_the_last_place() {
        let all = buffers(
            "[[buffer]]\nname = \"x\"\ntype = \"f32\"\nlen = \"n\"\ninit = { uniform = [-2.0, 2.0] }\noutput = true\n",
        );
        let before = generate(&all[0], 7, &[]).expect("contents");
        let mut after = before.clone();
        let change = InputChange {
            values: None,
            nudged: true,
        };
        change.apply(&all[0], 7, &mut after);
        let bits = |b: &[u8]| -> Vec<i64> {
            let each = b.chunks_exact(4);
            each.map(|c| i64::from(u32::from_le_bytes([c[0], c[1], c[2], c[3]])))
                .collect()
        };
        let (old, new) = (bits(&before), bits(&after));
        let moved: Vec<i64> = old.iter().zip(&new).map(|(a, b)| b - a).collect();
        assert!(moved.iter().all(|d| d.abs() == 1), "{moved:?}");
        assert!(moved.contains(&1) && moved.contains(&-1));
    }
}
