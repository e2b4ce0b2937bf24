//! Random input buffers: ordinary magnitudes with a few per cent of special values.

use super::random::Random;

/// The input buffers of one kernel launch, one element per thread in each.
///
/// Kernels load pairs of doubles and quadruples of floats as vectors, so a copy handed to a kernel
/// must begin at a 16-byte boundary.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Elements of `%in64`.
    pub f64: Vec<f64>,
    /// Elements of `%in32`.
    pub f32: Vec<f32>,
    /// Elements of `%in16`, as binary16 bits.
    pub f16: Vec<u16>,
    /// Elements of `%inI`.
    pub i32: Vec<i32>,
}

/// The inputs of kernel `index` of the module of `seed`, for a launch of `threads` threads.
///
/// All NaNs are quiet: the result of `minnum` for a signalling NaN is not fixed.
pub fn inputs(seed: u64, index: usize, threads: usize) -> Inputs {
    // Another stream than the one that wrote the kernel, so that values and text are unrelated.
    let mut random = Random::stream(seed ^ 0x1b87_3593_cc9e_2d51, index as u64);
    let mut made = Inputs {
        f64: Vec::with_capacity(threads),
        f32: Vec::with_capacity(threads),
        f16: Vec::with_capacity(threads),
        i32: Vec::with_capacity(threads),
    };
    for _ in 0..threads {
        made.f64.push(f64::from_bits(Shape::F64.draw(&mut random)));
        made.f32
            .push(f32::from_bits(Shape::F32.draw(&mut random) as u32));
        made.f16.push(Shape::F16.draw(&mut random) as u16);
        made.i32.push(integer(&mut random));
    }
    made
}

/// The bits of `value` in binary16, rounded towards zero; subnormal results become zero and values
/// out of range the largest finite one.
pub(super) fn half_bits(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 48) & 0x8000) as u16;
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    if exponent < -14 {
        sign
    } else if exponent > 15 {
        sign | 0x7bff
    } else {
        sign | ((exponent + 15) as u16) << 10 | ((bits >> 42) & 0x3ff) as u16
    }
}

/// A binary interchange format: the width of its significand field and of its exponent field, and
/// the exponents most log-uniform values are drawn from.
struct Shape {
    fraction: u32,
    exponent: u32,
    usual: (i64, i64),
}

impl Shape {
    const F64: Shape = Shape {
        fraction: 52,
        exponent: 11,
        usual: (-30, 30),
    };
    const F32: Shape = Shape {
        fraction: 23,
        exponent: 8,
        usual: (-20, 20),
    };
    const F16: Shape = Shape {
        fraction: 10,
        exponent: 5,
        usual: (-8, 8),
    };

    fn bias(&self) -> i64 {
        (1 << (self.exponent - 1)) - 1
    }

    fn pack(&self, negative: bool, biased: u64, fraction: u64) -> u64 {
        u64::from(negative) << (self.fraction + self.exponent)
            | biased << self.fraction
            | fraction & ((1 << self.fraction) - 1)
    }

    fn draw(&self, random: &mut Random) -> u64 {
        match random.weighted(&[(52, 0), (34, 1), (6, 2), (4, 3), (4, 4)]) {
            0 => self.number(random.unit() * 16.0 - 8.0),
            1 => self.log_uniform(random, self.usual),
            // Exact integers and halves exercise ties and exact results.
            2 => self.number(random.below(65) as f64 - 32.0),
            3 => self.number((random.below(65) as f64 - 32.0) / 2.0),
            _ => self.special(random),
        }
    }

    /// The bits of a small value in this format.
    fn number(&self, value: f64) -> u64 {
        match self.fraction {
            52 => value.to_bits(),
            23 => u64::from((value as f32).to_bits()),
            _ => u64::from(half_bits(value)),
        }
    }

    fn log_uniform(&self, random: &mut Random, (low, high): (i64, i64)) -> u64 {
        let exponent = low + random.below((high - low + 1) as usize) as i64;
        let negative = random.chance(50);
        self.pack(negative, (exponent + self.bias()) as u64, random.next())
    }

    fn special(&self, random: &mut Random) -> u64 {
        let negative = random.chance(50);
        let top = (1u64 << self.exponent) - 1;
        match random.below(8) {
            0 | 1 => self.pack(negative, 0, 0),
            2 => self.pack(negative, 0, random.next()),
            3 => self.pack(negative, 0, 1 << random.below(self.fraction as usize)),
            4 => self.pack(negative, top, 0),
            5 => self.pack(negative, top, 1 << (self.fraction - 1)),
            6 => self.log_uniform(random, (1 - self.bias(), self.bias())),
            _ => self.pack(negative, top - 1, random.next()),
        }
    }
}

fn integer(random: &mut Random) -> i32 {
    match random.weighted(&[(45, 0), (25, 1), (22, 2), (8, 3)]) {
        0 => random.below(33) as i32 - 16,
        1 => random.next() as i32,
        2 => (random.next() as i32) >> random.below(32),
        _ => random.choose(&[0, -1, 1, i32::MAX, i32::MIN, 0x5555_5555, 1 << 24, 65536]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_bits_of_small_numbers() {
        assert_eq!(half_bits(0.0), 0);
        assert_eq!(half_bits(-0.0), 0x8000);
        assert_eq!(half_bits(1.0), 0x3c00);
        assert_eq!(half_bits(-2.0), 0xc000);
        assert_eq!(half_bits(0.1), 0x2e66);
        assert_eq!(half_bits(65504.0), 0x7bff);
        assert_eq!(half_bits(1e9), 0x7bff);
        assert_eq!(half_bits(1e-9), 0);
    }

    #[test]
    fn inputs_are_mostly_ordinary_with_every_kind_of_special_value() {
        let mut all = Inputs {
            f64: Vec::new(),
            f32: Vec::new(),
            f16: Vec::new(),
            i32: Vec::new(),
        };
        for index in 0..64 {
            let made = inputs(7, index, 256);
            all.f64.extend(made.f64);
            all.f32.extend(made.f32);
            all.f16.extend(made.f16);
            all.i32.extend(made.i32);
        }
        let total = 64 * 256;
        assert_eq!([all.f64.len(), all.f32.len()], [total; 2]);
        assert_eq!([all.f16.len(), all.i32.len()], [total; 2]);
        let small = all.f64.iter().filter(|x| x.abs() <= 8.0).count();
        assert!(small * 10 > total * 6 && small * 10 < total * 9, "{small}");
        let zeros = |sign: bool| {
            let same = |x: &&f64| **x == 0.0 && x.is_sign_negative() == sign;
            all.f64.iter().filter(same).count()
        };
        assert!(zeros(true) > 0 && zeros(false) > 0);
        assert!(all.f64.iter().any(|x| x.is_subnormal()));
        assert!(all.f32.iter().any(|x| x.is_subnormal()));
        assert!(all.f64.contains(&f64::INFINITY) && all.f64.contains(&f64::NEG_INFINITY));
        assert!(all.f64.iter().any(|x| x.abs() > 1e300 && x.is_finite()));
        assert!(all.i32.contains(&i32::MIN) && all.i32.contains(&i32::MAX));
        let nan64: Vec<u64> = all
            .f64
            .iter()
            .filter(|x| x.is_nan())
            .map(|x| x.to_bits())
            .collect();
        let nan32: Vec<u32> = all
            .f32
            .iter()
            .filter(|x| x.is_nan())
            .map(|x| x.to_bits())
            .collect();
        let nan16: Vec<u16> = all
            .f16
            .iter()
            .copied()
            .filter(|x| x & 0x7fff > 0x7c00)
            .collect();
        assert!(!nan64.is_empty() && nan64.len() * 50 < total);
        assert!(nan64.iter().all(|bits| bits >> 51 & 1 == 1));
        assert!(!nan32.is_empty() && nan32.iter().all(|bits| bits >> 22 & 1 == 1));
        assert!(!nan16.is_empty() && nan16.iter().all(|bits| bits >> 9 & 1 == 1));
    }
}
