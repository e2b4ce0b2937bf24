//! Mutations of a real workload file. Whatever comes out of them, the program runs it or says what is
//! wrong; it never crashes, and neither does its worker.
use super::harness::{Folder, run};
use std::path::Path;

/// Cases of each kind of mutation.
const CASES: usize = 12;

/// What numbers and strings are replaced by.
const VALUES: &[&str] = &[
    "0",
    "-1",
    "1e300",
    "nan",
    "-inf",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "\"\"",
    "[]",
    "{}",
    "true",
    "\"n * n * n * n * n * n * n * n * n * n * n * n * n * n * n * n\"",
    "\"((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((\"",
    "\"1 / 0\"",
    "\"-n\"",
    "\"i\"",
    "\"spot\"",
];

/// A generator that gives the same numbers everywhere (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }
}

/// Spans of what `part` accepts, each as long as possible.
fn spans(text: &str, part: impl Fn(u8) -> bool) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = (at..bytes.len())
            .find(|&e| !part(bytes[e]))
            .unwrap_or(bytes.len());
        if end > at {
            out.push((at, end));
        }
        at = end.max(at + 1);
    }
    out
}

fn cut(text: &str, r: &mut Random) -> Vec<u8> {
    text.as_bytes()[..r.below(text.len())].to_vec()
}

fn flip(text: &str, r: &mut Random) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + r.below(3) {
        let at = r.below(bytes.len());
        bytes[at] ^= 1 << r.below(8);
    }
    bytes
}

fn drop_line(text: &str, r: &mut Random) -> Vec<u8> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.remove(r.below(lines.len()));
    lines.join("\n").into_bytes()
}

fn repeat_line(text: &str, r: &mut Random) -> Vec<u8> {
    let mut lines: Vec<&str> = text.lines().collect();
    let (from, to) = (r.below(lines.len()), r.below(lines.len()));
    lines.insert(to, lines[from]);
    lines.join("\n").into_bytes()
}

fn replace_value(text: &str, r: &mut Random) -> Vec<u8> {
    let numbers = spans(text, |b| b.is_ascii_digit() || b == b'.' || b == b'-');
    let (start, end) = numbers[r.below(numbers.len())];
    format!(
        "{}{}{}",
        &text[..start],
        VALUES[r.below(VALUES.len())],
        &text[end..]
    )
    .into_bytes()
}

fn all(seed: u64, mutate: impl Fn(&str, &mut Random) -> Vec<u8>) {
    let f = Folder::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/black_scholes");
    std::fs::copy(example.join("black_scholes.cu"), f.path("black_scholes.cu"))
        .expect("the example");
    let text = std::fs::read_to_string(example.join("black_scholes.toml")).expect("the example");
    let small = |l: &str| match l.starts_with("n = ") {
        true => "n = 64\n".to_owned(),
        false => format!("{l}\n"),
    };
    let text: String = text.lines().map(small).collect();
    assert_eq!(text.matches("\nn = 64\n").count(), 2, "of both devices");
    let mut random = Random(seed);
    for case in 0..CASES {
        let bytes = mutate(&text, &mut random);
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let w = f.file("fuzzed.toml", bytes);
        let said = run(&w, &["--warmup", "0", "--repeats", "1"]);
        match said.code {
            Some(0 | 1) => {}
            Some(2) => {
                said.refuses(&[]);
                assert!(
                    !said.err.contains("worker process"),
                    "case {case}\n{}\n{shown}",
                    said.err
                );
            }
            other => panic!("case {case}: {other:?}\n{}\n{shown}", said.err),
        }
    }
}

#[test]
fn truncated() {
    all(1, cut);
}

#[test]
fn bits_flipped() {
    all(2, flip);
}

#[test]
fn lines_left_out() {
    all(3, drop_line);
}

#[test]
fn lines_repeated() {
    all(4, repeat_line);
}

#[test]
fn values_replaced() {
    all(5, replace_value);
}
