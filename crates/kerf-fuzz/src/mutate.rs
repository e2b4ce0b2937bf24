//! Files made of other files: by bits and bytes, by lines, and by the words that they consist of.
use kerf_num::random::SplitMix64;

/// What numbers and words are replaced by.
const EXTREMES: &[&str] = &[
    "0",
    "-1",
    "1e300",
    "1e-400",
    "nan",
    "NaN",
    "-inf",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "\"\"",
    "[]",
    "{}",
    "null",
    "true",
    "\"n * n * n * n * n * n * n * n * n * n * n * n * n * n * n * n\"",
    "\"((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((\"",
    "\"1 / 0\"",
    "\"\u{0}\u{ffff}\"",
];

/// Files that are longer than their seed and than this do not grow any more.
const LONGEST: usize = 1 << 20;

/// A generator that gives the same numbers everywhere.
pub struct Random(SplitMix64);

impl Random {
    /// The numbers that belong to a file.
    pub fn of_file(seed: u64, number: u64) -> Random {
        let start = SplitMix64::at(seed, 0) ^ number.wrapping_mul(0xd134_2543_de82_ef95);
        Random(SplitMix64::new(start))
    }

    /// A number below `n`; 0 where there is none.
    pub fn below(&mut self, n: usize) -> usize {
        (self.0.bits() % n.max(1) as u64) as usize
    }
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'%' | b'@')
}

/// Spans of bytes that `part` accepts, each as long as possible.
fn spans(bytes: &[u8], part: impl Fn(u8) -> bool) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|b| part(**b)).count();
        if length > 0 {
            out.push((at, at + length));
        }
        at += length.max(1);
    }
    out
}

/// A stretch of the file.
fn stretch(bytes: &[u8], r: &mut Random) -> (usize, usize) {
    let from = r.below(bytes.len());
    let longest = (bytes.len() - from).min(1 + r.below(64));
    (from, from + longest)
}

fn replace(bytes: &mut Vec<u8>, (from, to): (usize, usize), by: &[u8]) {
    bytes.splice(from..to, by.iter().copied());
}

/// One of the spans, if there are any.
fn one_of(all: &[(usize, usize)], r: &mut Random) -> Option<(usize, usize)> {
    (!all.is_empty()).then(|| all[r.below(all.len())])
}

fn change_bytes(bytes: &mut Vec<u8>, r: &mut Random) {
    match r.below(4) {
        0 => {
            let at = r.below(bytes.len());
            bytes[at] ^= 1 << r.below(8);
        }
        1 => {
            let at = r.below(bytes.len());
            bytes[at] = [0, 1, 0x7f, 0x80, 0xff][r.below(5)];
        }
        2 => {
            let s = stretch(bytes, r);
            replace(bytes, s, &[]);
        }
        _ => {
            let (from, to) = stretch(bytes, r);
            let copy = bytes[from..to].to_vec();
            let at = r.below(bytes.len());
            replace(bytes, (at, at), &copy);
        }
    }
}

fn change_lines(bytes: &mut Vec<u8>, r: &mut Random) {
    let lines = spans(bytes, |b| b != b'\n');
    let (Some(a), Some(b)) = (one_of(&lines, r), one_of(&lines, r)) else {
        return;
    };
    match r.below(3) {
        0 => replace(bytes, a, &[]),
        1 => {
            let mut copy = bytes[a.0..a.1].to_vec();
            copy.push(b'\n');
            replace(bytes, (b.0, b.0), &copy);
        }
        _ => {
            let copy = bytes[a.0..a.1].to_vec();
            replace(bytes, b, &copy);
        }
    }
}

fn change_words(bytes: &mut Vec<u8>, other: &[u8], r: &mut Random) {
    let Some(to) = one_of(&spans(bytes, is_word), r) else {
        return;
    };
    match r.below(3) {
        0 => replace(bytes, to, EXTREMES[r.below(EXTREMES.len())].as_bytes()),
        1 => {
            let numbers = spans(bytes, |b| b.is_ascii_digit());
            let Some(at) = one_of(&numbers, r) else {
                return;
            };
            replace(bytes, at, EXTREMES[r.below(EXTREMES.len())].as_bytes());
        }
        _ => {
            if let Some((from, end)) = one_of(&spans(other, is_word), r) {
                let word = other[from..end].to_vec();
                replace(bytes, to, &word);
            }
        }
    }
}

/// A file that was made of seed `which`, and perhaps of others.
pub fn file(seeds: &[Vec<u8>], which: usize, r: &mut Random) -> Vec<u8> {
    let other = &seeds[r.below(seeds.len())];
    let mut bytes = seeds[which].clone();
    let longest = LONGEST.max(bytes.len());
    for _ in 0..1 + r.below(4) {
        if bytes.is_empty() || bytes.len() > longest {
            break;
        }
        match r.below(8) {
            0..=2 => change_bytes(&mut bytes, r),
            3 | 4 => change_lines(&mut bytes, r),
            5 | 6 => change_words(&mut bytes, other, r),
            _ if r.below(2) == 0 => bytes.truncate(r.below(bytes.len())),
            _ => {
                let from = r.below(other.len());
                let at = r.below(bytes.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }
    bytes.truncate(longest);
    bytes
}
