//! "A site in a format computes in that format", against an interpreter of the unchanged kernel.
//!
//! The interpreter walks the prepared IR thread by thread and knows nothing of the pass: it rounds the
//! operands and the result of each site to the format that the plan gives it. Random kernels that it can
//! interpret run on the CPU executor after the plan was applied, and have to give the same bits.
#[path = "oracle/arithmetic.rs"]
mod arithmetic;
#[path = "oracle/calls.rs"]
mod calls;
#[path = "oracle/interpreter.rs"]
mod interpreter;
#[path = "oracle/kernels.rs"]
mod kernels;

use crate::common;

use common::libdevice;
use interpreter::Interpreter;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_fuzz::identity::{self, PreparedRandom};
use kerf_fuzz::random_kernel::{self, RandomKernel, RandomModule};
use kerf_ir::finish::{Reflect, finish};
use kerf_ir::prepare;
use kerf_ir::sites;
use kerf_llvm::{Module, Value};
use kerf_num::Format;
use kerf_pass::FormatRefusal;
use kerf_pass::KernelPlan;
use kerf_pass::Plan;
use kerf_pass::SiteFormat;
use std::collections::BTreeMap;

/// SplitMix64, so that a failure can be repeated by its seed.
pub struct Random(pub u64);

impl Random {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.draw() % n as u64) as usize
    }
}

/// What plans did to kernels.
#[derive(Default, Debug)]
struct Tally {
    /// Kernels that ran both ways.
    kernels: usize,
    /// Sites that plans changed in them.
    sites: usize,
    /// Why the pass refused sites that a plan wanted to change.
    refused: Vec<FormatRefusal>,
    /// Kernels that the interpreter does not know, by reason.
    skipped: BTreeMap<String, usize>,
}

/// A plan that gives each site a narrower format, or f64 in place of f32, at random, and the formats by instruction.
fn random_plan(
    m: &Module,
    k: &RandomKernel,
    random: &mut Random,
    refused: &mut Vec<FormatRefusal>,
) -> (Plan, BTreeMap<Value, Format>) {
    let kernel = m.function(&k.name).expect("the kernel is there");
    let map = sites::sites(m, kernel);
    let (mut chosen, mut formats) = (BTreeMap::new(), BTreeMap::new());
    // From plans that change little to plans that change everything.
    let percent = [10, 50, 90, 100][random.below(4)];
    for s in &map.sites {
        // A format that is neither would be refused, and the site be left out.
        let mut others = vec![Format::F32, Format::F16, Format::Bf16];
        others.retain(|f| f.bytes() < s.format.bytes());
        match s.format {
            Format::F32 => others.push(Format::F64),
            Format::F64 | Format::F16 | Format::Bf16 => {}
        }
        if others.is_empty() || random.below(100) >= percent {
            continue;
        }
        let f = others[random.below(others.len())];
        let i = map.instructions[s.id];
        match kerf_pass::formats::check(i, f.into()) {
            Ok(()) => {
                chosen.insert(s.id, SiteFormat::from(f));
                formats.insert(i, f);
            }
            Err(why) if !refused.contains(&why) => refused.push(why),
            Err(_) => {}
        }
    }
    let mut plan = Plan::default();
    let k_plan = KernelPlan {
        sites: chosen,
        ..KernelPlan::default()
    };
    plan.kernels.insert(k.name.clone(), k_plan);
    (plan, formats)
}

/// Compares what a kernel gives under a plan, by the interpreter and by the executor, unless the
/// interpreter cannot say.
fn both(
    ir: &str,
    seed: u64,
    kernels: &[RandomKernel],
    which: usize,
    random: &mut Random,
    tally: &mut Tally,
) {
    let original = Module::parse(ir.as_bytes(), "random").expect("parses");
    prepare::prepare(&original, "sm_90").expect("prepares");
    let k = &kernels[which];
    let (plan, formats) = random_plan(&original, k, random, &mut tally.refused);
    let inputs = random_kernel::inputs(seed, which, k.threads());
    let want = match Interpreter::new(&original, formats).run(k, &inputs) {
        Ok(want) => want,
        Err(why) => {
            *tally.skipped.entry(why).or_insert(0) += 1;
            return;
        }
    };

    let module = original.duplicate();
    plan.apply(&module)
        .unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    finish(&module, &libdevice(), "sm_90", Reflect::default()).expect("finishes");
    let p = PreparedRandom {
        random: RandomModule {
            ir: ir.to_owned(),
            kernels: kernels.to_vec(),
        },
        seed,
        module,
        lambda: Vec::new(),
        coarsen: Vec::new(),
        records: Vec::new(),
    };
    let mut exec = CpuExecutor::new(&p.module, CpuOptions::default()).expect("compiles");
    let got = identity::run(&p, which, &mut exec).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let want = identity::Outputs::canonical(want);
    if let Some(d) = want.differences(&got) {
        panic!(
            "seed {seed} kernel {which}: interpreter and executor: {d}\n{}\n{}\n{}",
            serde_json::to_string(&plan).expect("serialises"),
            original.print(),
            p.module.print()
        );
    }
    tally.kernels += 1;
    tally.sites += plan.kernels.values().map(|k| k.sites.len()).sum::<usize>();
}

/// Enough was compared, and plans left nothing out but what no pass has: calls of functions that were not
/// inlined, conversions to integers in a rounding of their own, and what has no version in f64: memory, shuffles, operations that
/// take f32 alone.
fn enough(t: &Tally, sites: usize) {
    assert!(t.sites > sites, "{t:?}");
    let conversion = [
        "d2i.", "d2ui.", "d2ll.", "d2ull.", "f2i.", "f2ui.", "f2ll.", "f2ull.",
    ];
    let known = |why: &FormatRefusal| match why {
        FormatRefusal::OwnFunction(_) | FormatRefusal::Memory => true,
        FormatRefusal::NoVersion { format, .. } if *format == SiteFormat::F64 => true,
        FormatRefusal::NoVersion { function, .. } => {
            let name = function.strip_prefix("llvm.nvvm.").unwrap_or("");
            conversion.iter().any(|c| name.starts_with(c))
        }
        _ => false,
    };
    assert!(t.refused.iter().all(known), "{t:?}");
}

#[test]
fn random_kernels_under_random_plans() {
    let mut t = Tally::default();
    let mut seed = 0;
    while t.kernels < 20 {
        seed += 1;
        assert!(seed < 4000, "too few kernels can be interpreted: {t:?}");
        let random = random_kernel::module(seed, 3);
        for (n, k) in random.kernels.iter().enumerate() {
            if k.uses.math || k.uses.shared || k.uses.shuffle {
                continue;
            }
            let r = &mut Random(seed);
            both(&random.ir, seed, &random.kernels, n, r, &mut t);
        }
    }
    enough(&t, 200);
}

#[test]
fn random_loops_and_branches_under_random_plans() {
    let mut t = Tally::default();
    for seed in 1..=40 {
        let mut random = Random(seed);
        let (ir, k) = kernels::kernel(&mut random);
        both(&ir, seed, &[k], 0, &mut random, &mut t);
    }
    assert!(t.skipped.is_empty(), "{t:?}");
    enough(&t, 500);
}
