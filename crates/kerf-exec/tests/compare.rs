//! The comparison on a device gives what `kerf_num::metrics` gives. The device is the CPU executor; with `--ignored`,
//! a GPU.
#[path = "comparison/data.rs"]
mod data;

use data::{KINDS, Kind, Sample, assert_same};
use kerf_exec::compare::{self, DeviceComparer, DeviceIntegers, DeviceValues};
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{BufferId, ExecError, Executor};
use kerf_num::metrics::{
    CloseRule, Closeness, CompareOptions, ErrorReport, ImageExtents, Integers, NumpyType,
    compare_with_quantiles, scatter, ssim,
};
use kerf_num::random::SplitMix64;
use kerf_num::{Dd, Format};

fn on_cpu() -> DeviceComparer<CpuExecutor> {
    DeviceComparer::on_cpu(CpuOptions::default()).expect("the program of the comparison compiles")
}

fn upload<E: Executor>(c: &mut DeviceComparer<E>, bytes: &[u8]) -> BufferId {
    let exec = c.executor();
    let id = exec.alloc("data", bytes.len(), 8).expect("room");
    exec.write(id, bytes).expect("written");
    id
}

/// The sample on the device.
fn values<'a, E: Executor>(c: &mut DeviceComparer<E>, s: &'a Sample) -> DeviceValues<'a> {
    DeviceValues {
        candidate: upload(c, &s.bytes),
        elements: s.elements(),
        element_bytes: s.element_bytes,
        offsets: &s.offsets,
        stored: None,
        reference: upload(c, &s.reference_bytes()),
    }
}

fn options(format: Format, floor: Option<f64>, quantiles: &[f64]) -> CompareOptions {
    CompareOptions::new(format, floor, quantiles).expect("valid options")
}

/// The report of the device, which is the processor's.
fn check<E: Executor>(
    c: &mut DeviceComparer<E>,
    s: &Sample,
    options: &CompareOptions,
    case: &str,
) -> ErrorReport {
    let v = values(c, s);
    let got = c.compare(&v, options).expect("compared");
    let want = compare_with_quantiles(
        &s.got,
        &s.reference,
        options.format(),
        Some(options.floor()),
        options.quantiles(),
    )
    .expect("comparable");
    assert_same(&got, &want, case);
    got
}

/// All kinds of values in all formats.
fn check_kinds<E: Executor>(c: &mut DeviceComparer<E>, count: usize) {
    for format in Format::ALL {
        for (i, kind) in KINDS.into_iter().enumerate() {
            let s = Sample::dense(format, kind, count, 100 + i as u64);
            for floor in [None, Some(0.0), Some(0.5)] {
                let case = format!("{count} values of {format}, {kind:?}, floor {floor:?}");
                let r = check(c, &s, &options(format, floor, &[]), &case);
                let errors = kind != Kind::Equal && count > 100;
                assert_eq!(r.max_rel > 0.0, errors, "{case} has errors");
                let special = [r.nan_pairs, r.inf_pairs, r.nan_mismatch, r.inf_mismatch];
                if kind == Kind::Anything && count > 100 {
                    assert!(special.iter().all(|n| *n > 0), "{case} has {special:?}");
                }
            }
        }
    }
}

#[test]
fn all_kinds_of_values() {
    check_kinds(&mut on_cpu(), 5000);
}

/// Errors of single values, which larger ones would hide.
fn check_singles<E: Executor>(c: &mut DeviceComparer<E>) {
    for format in Format::ALL {
        for kind in KINDS {
            for seed in 0..20 {
                let s = Sample::dense(format, kind, 1, seed);
                let case = format!("{format}: {} for {:?}", s.got[0], s.reference[0]);
                check(c, &s, &options(format, None, &[]), &case);
            }
        }
    }
}

#[test]
fn single_values() {
    check_singles(&mut on_cpu());
}

/// Numbers of values around a chunk, and many chunks.
fn check_lengths<E: Executor>(c: &mut DeviceComparer<E>) {
    for format in Format::ALL {
        for count in [0, 1, 4095, 4096, 4097, 100_003] {
            for kind in [Kind::Close, Kind::Anything] {
                let s = Sample::dense(format, kind, count, count as u64);
                let case = format!("{count} values of {format}, {kind:?}");
                let r = check(c, &s, &options(format, None, &[]), &case);
                assert_eq!(r.count, count);
            }
        }
    }
}

#[test]
fn lengths_around_a_chunk() {
    check_lengths(&mut on_cpu());
}

/// Elements with several values, values between other bytes, and values at addresses that are no multiple of their size.
fn check_layouts<E: Executor>(c: &mut DeviceComparer<E>) {
    for format in Format::ALL {
        let b = format.bytes();
        let layouts = [
            (2 * b, vec![0, b]),
            (4 * b, vec![3 * b, 0, 2 * b]),
            (5 * b + 3, vec![1, b + 2, 3 * b]),
            (b + 1, vec![1]),
        ];
        for (element, offsets) in layouts {
            for elements in [1, 1366, 4097] {
                let s = Sample::new((format, Kind::Anything), elements, element, &offsets, 7);
                let case = format!("{elements} of {element} bytes with {format} at {offsets:?}");
                let r = check(c, &s, &options(format, None, &[]), &case);
                assert_eq!(r.count, elements * offsets.len());
            }
        }
    }
}

#[test]
fn elements_with_several_values() {
    check_layouts(&mut on_cpu());
}

/// More chunks than are combined at once, and more quantiles than are counted at once.
fn check_many<E: Executor>(c: &mut DeviceComparer<E>) {
    let mut s = Sample::dense(Format::F32, Kind::Close, 4096 * 1024 + 5, 3);
    // The largest error is in the last chunk, and again after it.
    let last = s.got.len() - 1;
    for at in [last - 3, last] {
        s.got[at] = 8.0;
        s.bytes[4 * at..4 * at + 4].copy_from_slice(&8f32.to_le_bytes());
        s.reference[at] = Dd::from_f64(2.0);
    }
    let many: Vec<f64> = (0..=20).map(|i| f64::from(i) / 20.0).collect();
    let r = check(c, &s, &options(Format::F32, Some(1.0), &many), "many");
    assert_eq!(r.max_abs_at.map(|e| e.index), Some(last - 3));
    assert_eq!(r.quantiles.len(), 23);
}

#[test]
fn many_chunks_and_quantiles() {
    check_many(&mut on_cpu());
}

#[test]
fn the_first_of_equal_maxima() {
    let mut c = on_cpu();
    for first in [0, 127, 128, 4095, 4096, 9000] {
        let mut got = vec![1f32; 12_000];
        for at in [first, first + 1, first + 129, 11_999] {
            got[at] = 1.5;
        }
        let s = Sample {
            element_bytes: 4,
            offsets: vec![0],
            bytes: got.iter().flat_map(|x| x.to_le_bytes()).collect(),
            got: got.iter().map(|x| f64::from(*x)).collect(),
            reference: vec![Dd::ONE; got.len()],
        };
        let r = check(&mut c, &s, &options(Format::F32, None, &[]), "ties");
        for at in [r.max_abs_at, r.max_rel_at, r.max_ulp_at] {
            assert_eq!(at.map(|e| (e.index, e.got)), Some((first, 1.5)));
        }
    }
}

#[test]
fn sums_do_not_depend_on_the_execution() {
    let s = Sample::dense(Format::F32, Kind::Close, 50_000, 11);
    let report = |options: CpuOptions| {
        let mut c = DeviceComparer::on_cpu(options).expect("compiles");
        let v = values(&mut c, &s);
        let o = self::options(Format::F32, None, &[]);
        format!("{:?}", c.compare(&v, &o).expect("compared"))
    };
    let usual = CpuOptions::default();
    let one = report(CpuOptions {
        threads: 1,
        ..usual
    });
    assert_eq!(
        report(CpuOptions {
            threads: 3,
            order: 5,
            ..usual
        }),
        one
    );
    assert_eq!(
        report(CpuOptions {
            no_regions: true,
            ..usual
        }),
        one
    );
}

/// Integers of several sizes, some of which differ.
fn check_integers<E: Executor>(c: &mut DeviceComparer<E>) {
    // A byte, two bytes and eight at odd places, and bytes that do not count.
    let scalars = [(0, 1), (3, 2), (5, 8), (16, 4)];
    let (element, elements) = (21, 10_000);
    let original: Vec<u8> = (0..element * elements)
        .map(|i| SplitMix64::at(1, i as u64) as u8)
        .collect();
    let mut candidate = original.clone();
    let mut mismatches = 0;
    for i in (0..elements).step_by(7) {
        let (offset, bytes) = scalars[i % 4];
        candidate[i * element + offset + i % bytes] ^= 1 << (i % 8);
        mismatches += 1;
        // Between scalars.
        candidate[i * element + 14] ^= 0xff;
    }
    let v = DeviceIntegers {
        candidate: upload(c, &candidate),
        original: upload(c, &original),
        elements,
        element_bytes: element,
        scalars: &scalars,
    };
    let want = Integers {
        count: 4 * elements,
        mismatches,
    };
    assert_eq!(c.compare_integers(&v).expect("compared"), want);
    let none = DeviceIntegers { elements: 0, ..v };
    assert_eq!(
        c.compare_integers(&none).expect("compared"),
        Integers::default()
    );
    let same = DeviceIntegers {
        candidate: v.original,
        ..v
    };
    let found = c.compare_integers(&same).expect("compared");
    assert_eq!((found.count, found.mismatches), (4 * elements, 0));
}

#[test]
fn integers_that_differ_are_counted() {
    check_integers(&mut on_cpu());
}

/// Images of one channel and of three, around the size of a tile.
fn check_images<E: Executor>(c: &mut DeviceComparer<E>) {
    let extents = |height, width, channels| ImageExtents {
        height,
        width,
        channels,
    };
    for image in [
        extents(11, 11, 1),
        extents(26, 27, 1),
        extents(70, 53, 3),
        extents(200, 131, 2),
    ] {
        let count = image.height * image.width * image.channels;
        let mut s = Sample::dense(Format::F32, Kind::Close, count, 21);
        // Light, so that means are far from zero and lose digits of variances.
        for (i, r) in s.reference.iter_mut().enumerate() {
            *r = r.add_f64(3.0 + (i % 97) as f64 / 50.0);
            let got = (r.hi * (1.0 + 0.05 * ((i * i) % 13) as f64)) as f32;
            s.got[i] = f64::from(got);
            s.bytes[4 * i..4 * i + 4].copy_from_slice(&got.to_le_bytes());
        }
        let v = values(c, &s);
        let o = options(Format::F32, None, &[]);
        let report = c.compare(&v, &o).expect("compared");
        let got = c.ssim(&v, o.format(), image, &report).expect("measured");
        let exact: Vec<f64> = s.reference.iter().map(|d| d.to_f64()).collect();
        let want = ssim(&s.got, &exact, image, report.peak);
        let (got, want) = (got.expect("an image"), want.expect("an image"));
        assert!(want < 0.999, "{image:?}: {want} is not perfect");
        assert!((got - want).abs() <= 1e-12, "{image:?}: {got} {want}");

        // Not the image's size, and no window.
        for other in [
            extents(image.height + 1, image.width, image.channels),
            extents(1, image.height * image.width, image.channels),
        ] {
            let none = c.ssim(&v, o.format(), other, &report).expect("measured");
            assert_eq!(none, None, "{other:?}");
        }
        // A value that is not finite.
        let mut broken = report.clone();
        broken.compared -= 1;
        let none = c.ssim(&v, o.format(), image, &broken).expect("measured");
        assert_eq!(none, None);
    }
}

#[test]
fn similarity_of_images() {
    check_images(&mut on_cpu());
}

/// How errors are spread, for extents that values have and for others.
fn check_scatter<E: Executor>(c: &mut DeviceComparer<E>) {
    for (i, kind) in KINDS.into_iter().enumerate() {
        let s = Sample::dense(Format::F32, kind, 6000, 400 + i as u64);
        let v = values(c, &s);
        for shape in [&[6000][..], &[60, 100], &[3, 2000], &[7, 7]] {
            for floor in [0.0, 0.5] {
                let want = scatter(&s.got, &s.reference, floor, shape);
                let got = c.scatter(&v, Format::F32, floor, shape).expect("looked at");
                assert_eq!(got, Some(want), "{kind:?} {shape:?} floor {floor}");
            }
        }
    }
    // So many that have the largest error are not collected.
    let got = vec![1.5f64; 40_000];
    let s = Sample {
        element_bytes: 8,
        offsets: vec![0],
        bytes: got.iter().flat_map(|x| x.to_le_bytes()).collect(),
        reference: vec![Dd::ONE; got.len()],
        got,
    };
    let v = values(c, &s);
    let got = c
        .scatter(&v, Format::F64, 0.0, &[40_000])
        .expect("looked at");
    assert_eq!(got, None);
}

#[test]
fn how_errors_are_spread() {
    check_scatter(&mut on_cpu());
}

/// Numbers of a type from random bits, with what is special among floats, and neighbours of what is expected.
fn numbers(t: NumpyType, count: usize, seed: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for i in 0..count as u64 {
        let word = SplitMix64::at(seed, i);
        let bits = match (t, i % 7) {
            // Around 1, where differences are about the tolerance.
            (NumpyType::Float(f), 0..=3) => {
                let x = 1.0 + (word % 9) as f64 * 2f64.powi(-20) + (word % 3) as f64 * 2e-6;
                match f {
                    Format::F64 => x.to_bits(),
                    Format::F32 => u64::from((x as f32).to_bits()),
                    _ => 0x3c00 + word % 2,
                }
            }
            (NumpyType::Float(Format::F16), 4) => {
                [0x7c00, 0xfc00, 0x7e00, 0x8000][word as usize % 4]
            }
            (NumpyType::Float(Format::F32), 4) => u64::from(
                [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -0.0][word as usize % 4].to_bits(),
            ),
            (NumpyType::Float(_), 4) => {
                [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0][word as usize % 4].to_bits()
            }
            (NumpyType::Integer { .. }, 0..=4) => word % 3,
            _ => word,
        };
        bytes.extend_from_slice(&bits.to_le_bytes()[..t.bytes()]);
    }
    bytes
}

/// Every pair of types, against `CloseRule::compare`.
fn check_closeness<E: Executor>(c: &mut DeviceComparer<E>) {
    let floats = [Format::F64, Format::F32, Format::F16].map(NumpyType::Float);
    let integers = [1, 2, 4, 8]
        .into_iter()
        .flat_map(|bytes| [true, false].map(|signed| NumpyType::Integer { bytes, signed }));
    let types: Vec<NumpyType> = floats.into_iter().chain(integers).collect();
    let count = 2000;
    for (i, expected) in types.iter().enumerate() {
        let x = numbers(*expected, count, i as u64);
        let on_device = upload(c, &x);
        for (k, got) in types.iter().enumerate() {
            let y = numbers(*got, count, 50 + k as u64);
            let candidate = upload(c, &y);
            for tolerance in [(1e-5, 1e-6), (0.0, 0.0), (1e-3, 0.5)] {
                let rule = CloseRule::new(*expected, *got, tolerance).expect("a rule");
                let want = rule.compare(&x, &y);
                let found = c.closeness(&rule, on_device, candidate, count);
                assert_eq!(found.expect("compared"), want, "{rule:?}");
                assert!(want.beyond > 0 && want.beyond < count, "{rule:?} {want:?}");
            }
            let rule = CloseRule::new(*expected, *got, (1e-5, 1e-6)).expect("a rule");
            if expected == got {
                let found = c
                    .closeness(&rule, on_device, on_device, count)
                    .expect("compared");
                assert_eq!(found, rule.compare(&x, &x));
            }
            let none = c.closeness(&rule, on_device, candidate, 0);
            assert_eq!(none.expect("compared"), Closeness::default());
        }
    }
}

/// Many numbers of which few differ: the first is found wherever it is.
fn check_first_that_is_not_close<E: Executor>(c: &mut DeviceComparer<E>) {
    let rule = NumpyType::Float(Format::F32);
    let rule = CloseRule::new(rule, rule, (1e-5, 1e-6)).expect("a rule");
    let count = (1 << 20) + 77;
    let x: Vec<u8> = (0..count).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let expected = upload(c, &x);
    for first in [0, 255, 256, 524_288, count - 1] {
        let mut y = x.clone();
        for at in [first, (first + 300_000).min(count - 1)] {
            y[4 * at..4 * at + 4].copy_from_slice(&(-7f32).to_le_bytes());
        }
        let got = upload(c, &y);
        let found = c.closeness(&rule, expected, got, count).expect("compared");
        assert_eq!(found, rule.compare(&x, &y));
        assert_eq!(found.first_beyond, Some(first));
    }
}

#[test]
fn closeness_is_that_of_the_host() {
    let mut c = on_cpu();
    check_closeness(&mut c);
    check_first_that_is_not_close(&mut c);
}

#[test]
fn scalars_beyond_their_element_are_refused() {
    let mut c = on_cpu();
    let s = Sample::dense(Format::F64, Kind::Close, 10, 1);
    let v = DeviceValues {
        offsets: &[1],
        ..values(&mut c, &s)
    };
    let e = c.compare(&v, &options(Format::F64, None, &[]));
    let e = e.expect_err("the last value ends after its element");
    assert!(
        matches!(
            e,
            ExecError::TooLong {
                have: 8,
                want: 9,
                ..
            }
        ),
        "{e}"
    );
    let n = DeviceIntegers {
        candidate: v.candidate,
        original: v.candidate,
        elements: 10,
        element_bytes: 8,
        scalars: &[(0, 4), (6, 4)],
    };
    assert!(c.compare_integers(&n).is_err());
}

#[test]
fn every_kernel_becomes_ptx() {
    for arch in ["sm_70", "sm_90"] {
        let m = compare::program(arch).expect("the program finishes");
        let ptx = kerf_ir::finish::ptx(&m, arch).expect("PTX is emitted");
        let entries = ptx.matches(".entry").count();
        assert_eq!(entries, compare::KERNELS.len(), "{arch}");
        for kernel in compare::KERNELS {
            assert!(ptx.contains(&format!(".entry {kernel}(")), "{kernel}");
        }
        // Contraction would undo the error-free transforms.
        assert!(ptx.contains("add.rn.f64") && !ptx.contains("add.f64"));
        assert!(ptx.contains("mul.rn.f64") && !ptx.contains("mul.f64"));
    }
}

#[test]
#[ignore = "needs a GPU"]
fn on_a_gpu() {
    let mut c = DeviceComparer::code(0)
        .and_then(|code| DeviceComparer::on_cuda(code, 0))
        .expect("the program of the comparison loads");
    check_kinds(&mut c, 5000);
    check_singles(&mut c);
    check_lengths(&mut c);
    check_layouts(&mut c);
    check_many(&mut c);
    check_integers(&mut c);
    check_images(&mut c);
    check_scatter(&mut c);
    check_closeness(&mut c);
    check_first_that_is_not_close(&mut c);

    // Buffers of another executor, and the same bits as on the CPU.
    let s = Sample::dense(Format::F16, Kind::Anything, 100_003, 31);
    let o = options(Format::F16, None, &[0.25]);
    let mut other = DeviceComparer::code(0)
        .and_then(|code| DeviceComparer::on_cuda(code, 0))
        .expect("loads");
    let mut v = values(&mut other, &s);
    for (id, bytes) in [
        (&mut v.candidate, s.bytes.len()),
        (&mut v.reference, 16 * s.reference.len()),
    ] {
        let address = other.executor().address(*id).expect("a buffer");
        *id = c.executor().adopt("of another", address, bytes);
    }
    let mut cpu = on_cpu();
    let there = values(&mut cpu, &s);
    let want = cpu.compare(&there, &o).expect("compared");
    let got = c.compare(&v, &o).expect("compared");
    assert_eq!(format!("{got:?}"), format!("{want:?}"));
}
