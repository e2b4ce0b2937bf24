//! The device's double words, bit by bit: against kerf-num's algorithms, and against the published
//! composite formulas written down a second time here. And that nothing is fused into any of them.
use crate::common;

use common::setup;
use kerf_ir::fuse::fuse_multiply_adds;
use kerf_llvm::Module;
use kerf_num::doubleword::{Base, Dw};
use kerf_study::bench::{EMBEDDED, StudyBench, buffer, int};
use kerf_study::inputs::InputStream;
use kerf_study::number::Storage;

#[test]
fn no_instruction_may_be_contracted() {
    for (name, bitcode) in EMBEDDED {
        let m = Module::parse(bitcode, name).expect("parses");
        assert_eq!(fuse_multiply_adds(&m), 0, "{name}");
    }
}

fn program(name: &str) -> StudyBench {
    let (_, bitcode) = EMBEDDED.iter().find(|e| e.0 == name).expect("embedded");
    StudyBench::new(bitcode, name, &setup(None)).expect("loads")
}

/// Numbers of both signs and many magnitudes, as words.
fn numbers(n: u64, name: &str) -> Vec<(f64, f64)> {
    let s = InputStream::new(7, name);
    (0..n)
        .map(|i| {
            let (hi, lo) = s.wide_within(i, (0.5, 2.0));
            let scale = 2f64.powi((s.bits(i + n) % 20) as i32 - 10);
            let sign = if s.bits(i + 2 * n) & 1 == 0 {
                1.0
            } else {
                -1.0
            };
            (sign * scale * hi, sign * scale * lo)
        })
        .collect()
}

/// A word of either type out of an f64 that holds it exactly.
trait Word: Base {
    fn word(x: f64) -> Self;
    const STORAGE: Storage;
    const NAME: &'static str;
}
impl Word for f32 {
    fn word(x: f64) -> f32 {
        x as f32
    }
    const STORAGE: Storage = Storage::Dw32;
    const NAME: &'static str = "float2";
}
impl Word for f64 {
    fn word(x: f64) -> f64 {
        x
    }
    const STORAGE: Storage = Storage::Dw64;
    const NAME: &'static str = "double2";
}

fn read<T: Word>(bytes: &[u8], i: usize) -> Dw<T> {
    let (hi, lo) = T::STORAGE.words(bytes, i);
    Dw {
        hi: T::word(hi),
        lo: T::word(lo),
    }
}

fn add_cmp<T: Word>(x: Dw<T>, y: Dw<T>) -> Dw<T> {
    let hi = x.hi + y.hi;
    let t = hi - x.hi;
    let lo = x.hi - (hi - t) + (y.hi - t) + x.lo + y.lo;
    Dw { hi, lo }
}

fn mul_cmp<T: Word>(x: Dw<T>, y: Dw<T>) -> Dw<T> {
    Dw {
        hi: x.hi * y.hi,
        lo: x.hi * y.lo + x.lo * y.hi + x.lo * y.lo,
    }
}

fn div_cmp<T: Word>(x: Dw<T>, y: Dw<T>) -> Dw<T> {
    let t = T::ONE / y.hi;
    let s = t * x.hi;
    let diff = x.hi - s * y.hi;
    Dw {
        hi: s + t * diff,
        lo: t * diff,
    }
}

fn sums<T: Word>(b: &mut StudyBench, variant: &str, add: fn(Dw<T>, Dw<T>) -> Dw<T>) {
    for n in [1, 2, 3, 50, 999] {
        let bytes = T::STORAGE.encode_wide(&numbers(n as u64, "sums"));
        let x = b.upload(&bytes, 8).expect("room");
        let out = b.room(T::STORAGE, 1).expect("room");
        let symbol = format!("summation_serial_{}{variant}", T::NAME);
        let args = [buffer(x), buffer(out), int(n)];
        b.launch(&symbol, [1, 1], [1, 1], &args).expect("runs");
        let got: Dw<T> = read(&b.read(out).expect("read"), 0);
        let want = (0..n).fold(Dw::from_word(T::ZERO), |s, i| add(s, read(&bytes, i)));
        assert_eq!(got, want, "{symbol} of {n}");
    }
}

#[test]
fn additions() {
    let mut b = program("summation");
    sums::<f32>(&mut b, "", Dw::accurate_dw_plus_dw);
    sums::<f64>(&mut b, "", Dw::accurate_dw_plus_dw);
    sums::<f32>(&mut b, "_cmp", add_cmp);
    sums::<f64>(&mut b, "_cmp", add_cmp);
}

type Op<T> = fn(Dw<T>, Dw<T>) -> Dw<T>;

fn chains<T: Word>(b: &mut StudyBench, variant: &str, mul: Op<T>, div: Op<T>) {
    let (starts, n) = (32, 40);
    let x = T::STORAGE.encode_wide(&numbers(starts as u64, "starts"));
    let y = T::STORAGE.encode_wide(&numbers(n as u64, "factors"));
    let from = b.upload(&x, 8).expect("room");
    let with = b.upload(&y, 8).expect("room");
    let out = b.room(T::STORAGE, starts).expect("room");
    let symbol = format!("do_undo_{}{variant}", T::NAME);
    let args = [buffer(from), buffer(with), buffer(out), int(starts), int(n)];
    b.launch(&symbol, [1, 1], [starts as u32, 1], &args)
        .expect("runs");
    let bytes = b.read(out).expect("read");
    for i in 0..starts {
        let want = (0..n).fold(read::<T>(&x, i), |v, k| {
            div(mul(v, read(&y, k)), read(&y, k))
        });
        assert_eq!(read::<T>(&bytes, i), want, "{symbol} {i}");
    }
}

#[test]
fn multiplications_and_divisions() {
    let mut b = program("do_undo");
    chains::<f32>(&mut b, "", Dw::dw_times_dw3, Dw::dw_div_dw2);
    chains::<f64>(&mut b, "", Dw::dw_times_dw3, Dw::dw_div_dw2);
    chains::<f32>(&mut b, "_cmp", mul_cmp, div_cmp);
    chains::<f64>(&mut b, "_cmp", mul_cmp, div_cmp);
}

#[test]
fn exponentials_are_within_their_measured_bound() {
    use kerf_num::doubleword::Elementary;
    let mut b = program("exponential");
    let mut worst = |storage: Storage, name: &str, limit: f64| {
        let s = InputStream::new(3, name);
        let x: Vec<(f64, f64)> = (0..2000).map(|i| s.wide_within(i, (-40.0, 80.0))).collect();
        let bytes = storage.encode_wide(&x);
        let from = b.upload(&bytes, 8).expect("room");
        let out = b.room(storage, x.len()).expect("room");
        let terms = b.upload(&vec![0; 4 * x.len()], 4).expect("room");
        let args = [buffer(from), buffer(out), buffer(terms), int(x.len())];
        let symbol = format!("exponential_{name}");
        b.launch(&symbol, [16, 1], [128, 1], &args).expect("runs");
        let got = b.read(out).expect("read");
        for (i, x) in x.iter().enumerate() {
            let exact = storage.decode(&bytes, i).expect("finite").exp();
            let got = storage.decode(&got, i).expect("finite");
            let error = ((got - &exact) / exact).abs().to_f64();
            assert!(error <= limit, "{symbol} of {x:?}: {error:e}");
        }
    };
    let (u32s, u64s) = (2f64.powi(-48), 2f64.powi(-106));
    worst(Storage::Dw32, "float2", f32::EXP_ERR_U2 * u32s);
    worst(Storage::Dw64, "double2", f64::EXP_ERR_U2 * u64s);
}
