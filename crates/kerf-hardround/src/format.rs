//! Formats, and the grid of numbers that a binade of one is; hexadecimal floats.
use rug::Float;

/// A binary format: arguments and results are rounded to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinaryFormat {
    /// Name, as on the command line.
    pub name: &'static str,
    /// Bits of the significand, the leading one included.
    pub precision: u32,
    /// Exponent of the smallest subnormal: the distance of numbers next to zero is 2 to it.
    pub lowest: i32,
    /// Largest exponent of a finite number.
    pub highest: i32,
}

/// IEEE 754 binary64.
pub const BINARY64: BinaryFormat = BinaryFormat {
    name: "binary64",
    precision: 53,
    lowest: -1074,
    highest: 1023,
};
/// IEEE 754 binary32.
pub const BINARY32: BinaryFormat = BinaryFormat {
    name: "binary32",
    precision: 24,
    lowest: -149,
    highest: 127,
};
/// bfloat16.
pub const BFLOAT16: BinaryFormat = BinaryFormat {
    name: "bfloat16",
    precision: 8,
    lowest: -133,
    highest: 127,
};
/// IEEE 754 binary16.
pub const BINARY16: BinaryFormat = BinaryFormat {
    name: "binary16",
    precision: 11,
    lowest: -24,
    highest: 15,
};

/// All formats.
pub const FORMATS: [BinaryFormat; 4] = [BINARY64, BINARY32, BFLOAT16, BINARY16];

impl BinaryFormat {
    /// By name; `f64`, `f32`, `bf16` and `f16` are understood too.
    pub fn find(name: &str) -> Option<BinaryFormat> {
        let name = match name {
            "f64" | "double" => "binary64",
            "f32" | "float" => "binary32",
            "bf16" => "bfloat16",
            "f16" | "half" => "binary16",
            n => n,
        };
        FORMATS.into_iter().find(|f| f.name == name)
    }

    /// Exponent of the unit in the last place of results with leading exponent `e`.
    pub fn ulp(&self, e: i32) -> i32 {
        (e - (self.precision as i32 - 1)).max(self.lowest)
    }

    /// The integer `m` and exponent `e` with `|x| = m 2^e`, on the grid of x's binade; none for a number
    /// that the format does not have. Subnormals share the grid of the least binade.
    pub fn split(&self, x: f64) -> Option<(u64, i32)> {
        if !x.is_finite() {
            return None;
        }
        if x == 0.0 {
            return Some((0, self.lowest));
        }
        let bits = x.abs().to_bits();
        let (field, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
        let (m, e) = match field {
            0 => (fraction, -1074),
            f => (fraction | 1 << 52, f - 1075),
        };
        let top = e + 63 - m.leading_zeros() as i32;
        let ulp = self.ulp(top);
        if top > self.highest {
            return None;
        }
        if ulp >= e {
            let shift = (ulp - e) as u32;
            (shift < 64 && m.trailing_zeros() >= shift).then(|| (m >> shift, ulp))
        } else {
            Some((m << (e - ulp), ulp))
        }
    }
}

/// Part of one binade: the numbers `sign * m * 2^exponent` for `first <= m < end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinadeGrid {
    /// Whether the numbers are negative.
    pub negative: bool,
    /// Exponent of the unit.
    pub exponent: i32,
    /// Least integer.
    pub first: u64,
    /// One past the largest.
    pub end: u64,
}

impl BinadeGrid {
    /// Number of arguments.
    pub fn len(&self) -> u64 {
        self.end - self.first
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.end <= self.first
    }
    /// The number with integer `m`, exactly.
    pub fn value(&self, m: u64) -> f64 {
        scale(m, self.exponent, self.negative)
    }
    /// The same, for `m` of any size, in `precision` bits (at least 64).
    pub fn float(&self, m: u64, precision: u32) -> Float {
        let mut f = Float::with_val(precision.max(64), m);
        f <<= self.exponent;
        if self.negative { -f } else { f }
    }
    /// The roundest number near the middle of two arguments or more, so that parts have lengths that vectors like.
    pub fn round_middle(&self) -> u64 {
        let step = 1u64 << (63 - (self.len() / 2).max(1).leading_zeros());
        let mut at = (self.first + self.len() / 2) / step * step;
        if at <= self.first {
            at += step;
        }
        match at < self.end {
            true => at,
            false => self.first + self.len() / 2,
        }
    }
    /// A part of it.
    pub fn part(&self, first: u64, end: u64) -> BinadeGrid {
        BinadeGrid {
            first,
            end,
            ..*self
        }
    }
}

/// `m 2^e` for m up to 53 bits, with a result that f64 has.
fn scale(m: u64, e: i32, negative: bool) -> f64 {
    let mut v = m as f64;
    let mut left = e;
    while left < -1000 {
        // Twice at most; exact, since the result is an f64 and intermediate ones are larger.
        let step = left.max(-1000);
        v *= 2f64.powi(step);
        left -= step;
    }
    v *= 2f64.powi(left.min(1000));
    if left > 1000 {
        v *= 2f64.powi(left - 1000);
    }
    if negative { -v } else { v }
}

/// What is wrong with a range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// The format does not have the number.
    #[error("{0} is not a number of {1}")]
    NotInFormat(String, &'static str),
    /// The end is not above the start.
    #[error("the range [{0}, {1}) is empty")]
    Empty(String, String),
}

/// The range [from, to) in parts that each lie in one binade, without zero, least first; whether zero lies
/// in it.
pub fn grids(
    format: BinaryFormat,
    from: f64,
    to: f64,
) -> Result<(Vec<BinadeGrid>, bool), RangeError> {
    let missing = |x| RangeError::NotInFormat(hex(x), format.name);
    let a = format.split(from).ok_or_else(|| missing(from))?;
    let b = format.split(to).ok_or_else(|| missing(to))?;
    if from >= to {
        return Err(RangeError::Empty(hex(from), hex(to)));
    }
    let mut all = Vec::new();
    if from < 0.0 {
        // (|to|, |from|] when all is negative, (0, |from|] otherwise.
        let low = if to < 0.0 { b } else { (0, format.lowest) };
        let mut part = binades(format, low, a, true);
        part.reverse();
        all.extend(part);
    }
    if to > 0.0 {
        let low = if from > 0.0 { a } else { (0, format.lowest) };
        all.extend(binades(format, low, b, false));
    }
    Ok((all, from <= 0.0 && to > 0.0))
}

/// Magnitudes from low to high by binade: [low, high), or (low, high] for negative numbers; not zero.
fn binades(
    format: BinaryFormat,
    low: (u64, i32),
    high: (u64, i32),
    negative: bool,
) -> Vec<BinadeGrid> {
    let top = 1u64 << format.precision;
    let shift = u64::from(negative);
    let mut all = Vec::new();
    for e in low.1..=high.1 {
        let least = match e == format.lowest {
            true => 1,
            false => top >> 1,
        };
        let first = if e == low.1 {
            (low.0 + shift).max(least)
        } else {
            least
        };
        let end = if e == high.1 {
            (high.0 + shift).min(top)
        } else {
            top
        };
        if first < end {
            all.push(BinadeGrid {
                negative,
                exponent: e,
                first,
                end,
            });
        }
    }
    all
}

/// A float in hexadecimal, exactly, as C prints it with `%a`.
pub fn hex(x: f64) -> String {
    if !x.is_finite() {
        return x.to_string();
    }
    let sign = if x.is_sign_negative() { "-" } else { "" };
    let bits = x.abs().to_bits();
    let (field, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    if field == 0 && fraction == 0 {
        return format!("{sign}0x0p+0");
    }
    let (lead, e) = if field == 0 {
        (0, -1022)
    } else {
        (1, field - 1023)
    };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let dot = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x{lead}{dot}{digits}p{e:+}")
}

/// Reads a hexadecimal or decimal float; none if it is not one, or not exactly an f64 when hexadecimal.
pub fn parse(text: &str) -> Option<f64> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let Some(rest) = rest.strip_prefix("0x").or(rest.strip_prefix("0X")) else {
        let x: f64 = text.parse().ok()?;
        return x.is_finite().then_some(x);
    };
    let (digits, e) = match rest.split_once(['p', 'P']) {
        Some((d, e)) => (d, e.parse::<i32>().ok()?),
        None => (rest, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.is_empty() && part.is_empty()) || e.abs() > 5000 || digits.len() > 300 {
        return None;
    }
    let mut m = rug::Integer::new();
    for c in whole.chars().chain(part.chars()) {
        m = m * 16 + c.to_digit(16)?;
    }
    let exact = Float::with_val(64 + 4 * digits.len() as u32, &m)
        << (e - 4 * i32::try_from(part.len()).ok()?);
    let x = exact.to_f64();
    (x.is_finite() && x == exact).then_some(if negative { -x } else { x })
}
