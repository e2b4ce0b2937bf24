//! Device printf: a format and CUDA's packed argument buffer.
//!
//! Each argument is aligned to its own size; integers narrower than int were promoted, floats are
//! doubles.
use std::ffi::CStr;

struct Buffer {
    at: usize,
    base: *const u8,
}

impl Buffer {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        self.at = self.at.next_multiple_of(N);
        // SAFETY: the compiler packed an argument of N bytes here for this conversion; a format
        // that asks for more than was passed is the kernel's bug, as it is on the GPU.
        let v = unsafe { std::ptr::read_unaligned(self.base.add(self.at).cast::<[u8; N]>()) };
        self.at += N;
        v
    }
}

#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alt: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

impl Spec {
    fn pad(&self, sign: &str, body: &str, numeric: bool) -> String {
        let len = sign.len() + body.chars().count();
        let fill = self.width.saturating_sub(len);
        if self.left {
            format!("{sign}{body}{}", " ".repeat(fill))
        } else if self.zero && numeric {
            format!("{sign}{}{body}", "0".repeat(fill))
        } else {
            format!("{}{sign}{body}", " ".repeat(fill))
        }
    }
    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, _, _) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }
}

fn exponent_form(v: f64, precision: usize) -> String {
    let s = format!("{v:.precision$e}");
    let (m, e) = s.split_once('e').unwrap_or((&s, "0"));
    let e: i32 = e.parse().unwrap_or(0);
    format!("{m}e{}{:02}", if e < 0 { '-' } else { '+' }, e.abs())
}

fn general_form(v: f64, spec: &Spec) -> String {
    let p = spec.precision.unwrap_or(6).max(1);
    let exp: i32 = format!("{v:.*e}", p - 1)
        .rsplit('e')
        .next()
        .and_then(|e| e.parse().ok())
        .unwrap_or(0);
    let s = if v != 0.0 && (exp < -4 || exp >= p as i32) {
        exponent_form(v, p - 1)
    } else {
        format!(
            "{v:.*}",
            (p as i32 - 1 - if v == 0.0 { 0 } else { exp }).max(0) as usize
        )
    };
    if spec.alt || !s.contains('.') {
        return s;
    }
    match s.split_once('e') {
        Some((m, e)) => format!("{}e{e}", m.trim_end_matches('0').trim_end_matches('.')),
        None => s.trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

fn hex_float(v: f64) -> String {
    let bits = v.to_bits();
    let (e, m) = (((bits >> 52) & 0x7ff) as i32, bits & ((1 << 52) - 1));
    if e == 0 && m == 0 {
        return "0x0p+0".to_owned();
    }
    let (lead, e) = if e == 0 { (0, -1022) } else { (1, e - 1023) };
    let digits = format!("{m:013x}");
    let digits = digits.trim_end_matches('0');
    let dot = if digits.is_empty() { "" } else { "." };
    format!("0x{lead}{dot}{digits}p{e:+}")
}

fn float(v: f64, conv: char, spec: &Spec) -> String {
    let a = v.abs();
    let body = if v.is_nan() {
        "nan".to_owned()
    } else if v.is_infinite() {
        "inf".to_owned()
    } else {
        match conv.to_ascii_lowercase() {
            'f' => format!("{a:.*}", spec.precision.unwrap_or(6)),
            'e' => exponent_form(a, spec.precision.unwrap_or(6)),
            'a' => hex_float(a),
            _ => general_form(a, spec),
        }
    };
    let body = if conv.is_ascii_uppercase() {
        body.to_uppercase()
    } else {
        body
    };
    let negative = v.is_sign_negative() && !v.is_nan();
    spec.pad(spec.sign(negative), &body, v.is_finite())
}

/// A conversion of the format, as it is written behind the `%`.
struct Conversion {
    spec: Spec,
    /// The argument has 64 bits.
    wide: bool,
    /// Number of `h`.
    shorts: usize,
    letter: u8,
}

/// A number of the format at `i`, or where a `*` stands for it, of the arguments.
fn number(text: &[u8], i: &mut usize, b: &mut Buffer) -> i64 {
    if text.get(*i) == Some(&b'*') {
        *i += 1;
        return i64::from(i32::from_le_bytes(b.take()));
    }
    let mut n = 0i64;
    while let Some(d) = text.get(*i).filter(|d| d.is_ascii_digit()) {
        n = (n * 10 + i64::from(d - b'0')).min(4096);
        *i += 1;
    }
    n
}

impl Conversion {
    /// Reads the one at `i`; none where the format ends before its letter.
    fn read(text: &[u8], i: &mut usize, b: &mut Buffer) -> Option<Conversion> {
        let mut s = Spec::default();
        while let Some(c) = text.get(*i) {
            match c {
                b'-' => s.left = true,
                b'+' => s.plus = true,
                b' ' => s.space = true,
                b'#' => s.alt = true,
                b'0' => s.zero = true,
                _ => break,
            }
            *i += 1;
        }
        let w = number(text, i, b);
        s.left |= w < 0;
        s.width = w.unsigned_abs().min(4096) as usize;
        if text.get(*i) == Some(&b'.') {
            *i += 1;
            s.precision = Some(number(text, i, b).clamp(0, 4096) as usize);
        }
        let from = *i;
        while text.get(*i).is_some_and(|c| b"hlLqjzt".contains(c)) {
            *i += 1;
        }
        let modifiers = &text[from..*i];
        let letter = *text.get(*i)?;
        *i += 1;
        Some(Conversion {
            spec: s,
            wide: modifiers.iter().any(|c| b"lLqjzt".contains(c)),
            shorts: modifiers.iter().filter(|c| **c == b'h').count(),
            letter,
        })
    }

    fn signed(mut self, b: &mut Buffer) -> String {
        let v = if self.wide {
            i64::from_le_bytes(b.take())
        } else {
            i64::from(i32::from_le_bytes(b.take()))
        };
        let v = match self.shorts {
            1 => i64::from(v as i16),
            2 => i64::from(v as i8),
            _ => v,
        };
        let s = &mut self.spec;
        let digits = format!("{:0>1$}", v.unsigned_abs(), s.precision.unwrap_or(1));
        s.zero &= s.precision.is_none();
        s.pad(s.sign(v < 0), &digits, true)
    }

    fn unsigned(&self, b: &mut Buffer) -> String {
        let v = if self.wide {
            u64::from_le_bytes(b.take())
        } else {
            u64::from(u32::from_le_bytes(b.take()))
        };
        let v = match self.shorts {
            1 => u64::from(v as u16),
            2 => u64::from(v as u8),
            _ => v,
        };
        let d = match self.letter {
            b'u' => format!("{v}"),
            b'x' => format!("{v:x}"),
            b'X' => format!("{v:X}"),
            _ => format!("{v:o}"),
        };
        let prefix = match (self.spec.alt && v != 0, self.letter) {
            (true, b'x') => "0x",
            (true, b'X') => "0X",
            (true, b'o') => "0",
            _ => "",
        };
        let d = format!("{:0>1$}", d, self.spec.precision.unwrap_or(1));
        self.spec.pad(prefix, &d, true)
    }

    fn string(&self, b: &mut Buffer) -> String {
        let p = usize::from_le_bytes(b.take());
        let mut t = if p == 0 {
            "(null)".to_owned()
        } else {
            // SAFETY: the kernel passed a C string.
            unsafe { CStr::from_ptr(p as *const _) }
                .to_string_lossy()
                .into_owned()
        };
        if let Some(n) = self.spec.precision {
            t = t.chars().take(n).collect();
        }
        self.spec.pad("", &t, false)
    }

    /// The argument in words; a letter that means nothing leaves the conversion as it is written.
    fn convert(self, b: &mut Buffer, written: &[u8]) -> String {
        let s = &self.spec;
        match self.letter {
            b'%' => "%".to_owned(),
            b'd' | b'i' => self.signed(b),
            b'u' | b'x' | b'X' | b'o' => self.unsigned(b),
            b'c' => s.pad(
                "",
                &char::from(i32::from_le_bytes(b.take()) as u8).to_string(),
                false,
            ),
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                float(f64::from_le_bytes(b.take()), char::from(self.letter), s)
            }
            b's' => self.string(b),
            b'p' => s.pad("", &format!("{:#x}", usize::from_le_bytes(b.take())), false),
            _ => String::from_utf8_lossy(written).into_owned(),
        }
    }
}

/// Formats as C's printf would.
///
/// # Safety
/// `format` is a C string and `args` a packed buffer that matches it.
pub unsafe fn format(format: *const i8, args: *const u8) -> Vec<u8> {
    // SAFETY: by the caller's contract.
    let text = unsafe { CStr::from_ptr(format.cast()) }.to_bytes();
    let mut out = Vec::new();
    let mut b = Buffer { at: 0, base: args };
    let mut i = 0;
    while i < text.len() {
        if text[i] != b'%' {
            out.push(text[i]);
            i += 1;
            continue;
        }
        let start = i;
        i += 1;
        let Some(c) = Conversion::read(text, &mut i, &mut b) else {
            out.extend(&text[start..]);
            break;
        };
        out.extend(c.convert(&mut b, &text[start..i]).as_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    fn f(fmt: &std::ffi::CStr, args: &[u64]) -> String {
        // SAFETY: 8-byte slots, and the formats below ask for 8-byte arguments only.
        let v = unsafe { super::format(fmt.as_ptr(), args.as_ptr().cast()) };
        String::from_utf8(v).expect("ascii")
    }

    #[test]
    fn formats_like_c() {
        let x = |v: f64| v.to_bits();
        assert_eq!(
            f(c"%f|%10.3f|%-8.1f|", &[x(1.5), x(-2.25), x(3.0)]),
            "1.500000|    -2.250|3.0     |"
        );
        assert_eq!(
            f(c"%e %.2E", &[x(12345.678), x(1e-7)]),
            "1.234568e+04 1.00E-07"
        );
        assert_eq!(
            f(c"%g %g %g %g", &[x(0.0001), x(1e6), x(123456.0), x(0.0)]),
            "0.0001 1e+06 123456 0"
        );
        assert_eq!(
            f(c"%ld %llu %lx %05ld", &[-3i64 as u64, 7, 255, 42]),
            "-3 7 ff 00042"
        );
        assert_eq!(f(c"%a 100%%", &[x(1.0)]), "0x1p+0 100%");
        assert_eq!(
            f(c"%f %f", &[x(f64::NAN), x(f64::NEG_INFINITY)]),
            "nan -inf"
        );
        assert_eq!(f(c"tail %", &[]), "tail %");
    }
}
