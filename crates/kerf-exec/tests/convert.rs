//! Numbers are converted on a device as kerf-num converts them, with what they lose. The device is the CPU executor.
use kerf_exec::compare::DeviceComparer;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{BufferId, Executor};
use kerf_num::random::SplitMix64;
use kerf_num::scaled::{ElementCode, ScaledFormat, StorageLoss};
use kerf_num::{Format, StorageFormat};

type Comparer = DeviceComparer<CpuExecutor>;

fn bytes_of(words: &[u64], format: StorageFormat) -> Vec<u8> {
    let each = words.iter().map(|w| w.to_le_bytes());
    each.flat_map(|b| b[..format.bytes()].to_vec()).collect()
}

fn words_of(bytes: &[u8], format: StorageFormat) -> Vec<u64> {
    let word = |c: &[u8]| {
        let mut raw = [0; 8];
        raw[..c.len()].copy_from_slice(c);
        u64::from_le_bytes(raw)
    };
    bytes.chunks_exact(format.bytes()).map(word).collect()
}

/// Words of a format converted on the device, and what they lost.
fn converted(
    c: &mut Comparer,
    words: &[u64],
    from: StorageFormat,
    to: StorageFormat,
) -> (Vec<u64>, [u64; 2]) {
    let mut buffer = |bytes: &[u8]| -> BufferId {
        let id = c.executor().alloc("numbers", bytes.len(), 8).expect("room");
        c.executor().write(id, bytes).expect("written");
        id
    };
    let source = buffer(&bytes_of(words, from));
    let target = buffer(&vec![0; words.len() * to.bytes()]);
    let lost = c.convert((source, from), (target, to), words.len());
    let out = c.executor().read(target).expect("read");
    (words_of(&out, to), lost.expect("converted"))
}

/// Numbers at every power of two in reach of the codes, just above and below, halfway between codes, and those that no code
/// holds.
fn numbers(format: ScaledFormat) -> Vec<f64> {
    let mut all = vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    all.extend([f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1)]);
    let codes = 0..1u64 << (8 * format.bytes());
    for code in codes.step_by(if format.bytes() == 2 { 211 } else { 1 }) {
        let (x, y) = (format.decode(code), format.decode(code + 1));
        all.extend([x, 0.5 * (x + y), x * (1.0 + 1e-13), x * 1.4, x * 3.0]);
    }
    let mut r = SplitMix64::new(7);
    all.extend((0..500).map(|_| f64::from_bits(r.bits())));
    all.iter().flat_map(|x| [*x, -*x]).collect()
}

#[test]
fn codes_have_the_bits_and_losses_of_the_host() {
    let mut c = DeviceComparer::on_cpu(CpuOptions::default()).expect("the program compiles");
    let mut seen = [0u64; 2];
    for code in ElementCode::ALL {
        for exponent in [-960, -12, 960] {
            let format = ScaledFormat { code, exponent };
            for own in [Format::F64, Format::F32, Format::F16] {
                let words: Vec<u64> = numbers(format).iter().map(|x| own.encode(*x)).collect();
                let (codes, lost) = converted(&mut c, &words, own.into(), format.into());
                let host = words
                    .iter()
                    .map(|w| format.encode_with_loss(own.decode(*w)));
                let (want, losses): (Vec<u64>, Vec<StorageLoss>) = host.unzip();
                assert_eq!(codes, want, "{own} to {format}");
                let count = |l| losses.iter().filter(|x| **x == l).count() as u64;
                let want = [count(StorageLoss::Saturated), count(StorageLoss::NotHeld)];
                assert_eq!(lost, want, "{own} to {format}");
                seen = [seen[0] + lost[0], seen[1] + lost[1]];
            }
        }
    }
    assert!(seen.iter().all(|n| *n > 100), "losses occur: {seen:?}");
}

#[test]
fn numbers_of_codes_are_those_of_the_host() {
    let mut c = DeviceComparer::on_cpu(CpuOptions::default()).expect("the program compiles");
    for code in ElementCode::ALL {
        for exponent in [-20, 0, 9] {
            let format = ScaledFormat { code, exponent };
            let words: Vec<u64> = (0..1u64 << (8 * format.bytes())).collect();
            for own in [Format::F64, Format::F32, Format::Bf16] {
                let (numbers, lost) = converted(&mut c, &words, format.into(), own.into());
                let host = words.iter().map(|w| own.encode(format.decode(*w)));
                let is_nan = |w: &u64| own.decode(*w).is_nan();
                for ((got, want), word) in numbers.iter().zip(host).zip(&words) {
                    let same = *got == want || is_nan(got) && is_nan(&want);
                    assert!(same, "{word:#x} of {format} to {own}: {got:#x}, {want:#x}");
                }
                assert_eq!(lost, [0; 2]);
            }
        }
    }
}
