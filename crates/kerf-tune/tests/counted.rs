//! The cost model from counts as the search asks it, and what counted ranges forbid.
use crate::common;

use kerf_device::bundled;
use kerf_num::Format;
use kerf_pass::SiteFormat;
use kerf_pass::count::{BlockCount, LaunchCounts, SiteRecord};
use kerf_predict::cost::{CostModel as Device, ProgramWork};
use kerf_run::job::{KernelCounts, ProgramCounts, SiteCounts};
use kerf_tune::coded::{Assembler, Coded};
use kerf_tune::counted::CountedTimes;
use kerf_tune::models::{ErrorPredictor, TimePredictor};
use kerf_tune::problem::{Grouping, tunable};
use kerf_tune::ranges::Ranges;
use kerf_tune::subject::Subject;

/// Two kernels: a long chain of f64 operations, and a short one.
fn subject() -> Subject {
    let step = |k: usize| format!("  %c{} = fmul double %c{k}, %c{k}\n", k + 1);
    let chain: String = (0..40).map(step).collect();
    let kernel = |name: &str, body: &str, last: usize| {
        format!(
            "define ptx_kernel void @{name}(ptr %x) {{
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr double, ptr %x, i32 %i
  %c0 = load double, ptr %p
{body}  store double %c{last}, ptr %p
  ret void
}}
"
        )
    };
    let ir = format!(
        "target triple = \"nvptx64-nvidia-cuda\"\ndeclare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n{}{}",
        kernel("long", &chain, 40),
        kernel("short", &step(0), 1)
    );
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("k.ll"), ir).expect("written");
    let launch = |k: &str| {
        format!("[[launch]]\nkernel = \"{k}\"\ngrid = [1]\nblock = [32]\nargs = [\"x\"]\n")
    };
    let text = format!(
        "source = \"k.ll\"\n[[buffer]]\nname = \"x\"\ntype = \"f64\"\nlen = 32\ninit = {{ constant = 1.0 }}\noutput = true\n{}{}",
        launch("long"),
        launch("short")
    );
    let path = dir.path().join("w.toml");
    std::fs::write(&path, text).expect("written");
    let tools = common::bare();
    Subject::load(&path, &[], &tools).expect("a subject")
}

fn work(blocks: usize) -> ProgramWork {
    let launch = |symbol: &str| LaunchCounts {
        symbol: symbol.into(),
        grid: [100_000, 1, 1],
        block: [32, 1, 1],
        dynamic_shared: 0,
        buffers: vec![256],
        repeats: 1,
        blocks: vec![
            BlockCount {
                threads: 3_200_000,
                warps: 100_000,
                longest: 1,
            };
            blocks
        ],
        patterns: Vec::new(),
        together: Vec::new(),
        spread: None,
    };
    ProgramWork {
        launches: vec![launch("long"), launch("short")],
        copies: 0,
        copied_bytes: 0,
    }
}

fn h200() -> Device {
    let profile = bundled::find("h200").expect("bundled").bundled.load();
    Device::new(&profile.expect("valid")).expect("complete")
}

#[test]
fn plans_are_ranked_by_their_kernels() {
    let s = subject();
    let t = tunable(&s, &[SiteFormat::F32], Grouping::Chain).expect("tunable");
    assert_eq!(t.groups.len(), 2);
    let device = h200();
    let c = CountedTimes::new(&s, &t, &device, &work(2)).expect("counts fit");
    let of = |a: [u8; 2]| c.predict(&a.to_vec()).expect("a time");
    assert_eq!(of([0, 0]), 1.0);
    // 40 operations in f32 pay for two conversions; one does not.
    assert!(of([1, 0]) < 0.9, "{}", of([1, 0]));
    assert!(of([0, 1]) > 1.0, "{}", of([0, 1]));
    // Kernels add up, and what was asked once is the same again.
    let sum = of([1, 0]) + of([0, 1]) - 1.0;
    assert!((of([1, 1]) - sum).abs() < 1e-9);
    assert_eq!(of([1, 0]), of([1, 0]));
    assert!(c.describe().contains("counting run"));
}

#[test]
fn counts_of_another_program_are_refused() {
    let s = subject();
    let t = tunable(&s, &[SiteFormat::F32], Grouping::Chain).expect("tunable");
    let device = h200();
    assert!(CountedTimes::new(&s, &t, &device, &work(1)).is_err());
}

#[test]
fn plans_are_compiled_where_they_are_few_and_an_assembler_is_there() {
    let s = subject();
    let t = tunable(&s, &[SiteFormat::F32], Grouping::Chain).expect("tunable");
    let device = h200();
    let cuda = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.kerf/cuda");
    let mut by = Assembler {
        ptxas: "/nowhere/ptxas".into(),
        libdevice: Vec::new(),
        arch: "sm_90".into(),
    };
    // Blocks so large that getting them to the device is not what takes the time.
    let mut large = work(2);
    for l in &mut large.launches {
        l.block = [1024, 1, 1];
        for b in &mut l.blocks {
            (b.threads, b.warps) = (32 * b.threads, 32 * b.warps);
        }
    }
    let told = std::cell::Cell::new((0, 0));
    let model = |by: &Assembler, most| {
        Coded::new(&s, &t, &device, &large, by, most, &mut |done, of| {
            told.set((done, of))
        })
    };
    // Two plans of each of two kernels.
    assert!(model(&by, 3).expect("no mistake").is_none());
    let nothing = model(&by, 4).expect("no mistake").expect("few enough");
    assert_eq!(told.get(), (4, 4));
    assert_eq!(nothing.predict(&vec![0, 0]), None);
    by.ptxas = cuda.join("bin/ptxas");
    assert!(by.ptxas.is_file(), "no ptxas in .kerf/cuda (make setup)");
    let c = model(&by, 4).expect("no mistake").expect("few enough");
    let of = |a: [u8; 2]| c.predict(&a.to_vec()).expect("a time");
    assert_eq!(of([0, 0]), 1.0);
    assert!(of([1, 0]) < 0.9, "{}", of([1, 0]));
    let sum = of([1, 0]) + of([0, 1]) - 1.0;
    assert!((of([1, 1]) - sum).abs() < 1e-9);
    // When they are asked for: both kernels as they are, and one plan more.
    let some = Coded::on_demand(&s, &t, &device, &large, &by, 3).expect("no mistake");
    assert_eq!(some.answers().in_all, 1);
    some.prepare(&[vec![1, 0]]);
    assert_eq!(some.answers().in_all, 0);
    assert_eq!(some.predict(&vec![1, 0]), Some(of([1, 0])));
    assert_eq!(some.predict(&vec![0, 1]), None);
}

#[test]
fn a_format_that_overflows_is_forbidden_for_its_group_alone() {
    let s = subject();
    let formats = [SiteFormat::F32, SiteFormat::F16];
    let t = tunable(&s, &formats, Grouping::Chain).expect("tunable");
    let kernels = s.kernels.iter().map(|k| KernelCounts {
        symbol: k.symbol.clone(),
        name: k.name.clone(),
        launches: 1,
        threads: 32,
        sites: k
            .sites
            .iter()
            .map(|site| SiteCounts {
                id: site.id,
                op: site.op.clone(),
                format: Format::F64,
                group: site.group,
                line: None,
                seen: SiteRecord {
                    count: 32,
                    largest: Some(if k.name == "long" { 1e6 } else { 4.0 }),
                    smallest: Some(1.0),
                    max_exponent: Some(if k.name == "long" { 19 } else { 2 }),
                    min_exponent: Some(0),
                    ..SiteRecord::default()
                },
            })
            .collect(),
        traffic: Vec::new(),
    });
    let counts = ProgramCounts {
        kernels: kernels.collect(),
        launches: Vec::new(),
        copies: 0,
        copied_bytes: 0,
        device: kerf_run::job::Device::Cpu,
        has_sampled_values: false,
        needs_cpu: Vec::new(),
        made: Vec::new(),
    };
    let r = Ranges::new(&s, &t, &counts);
    assert_eq!(r.veto(0, 1), None);
    let why = r.veto(0, 2).expect("f16 overflows");
    assert!(why.contains("2^0 to 2^19"), "{why}");
    assert_eq!(r.veto(1, 2), None);
    assert_eq!(r.error(0, 1), None);
}
