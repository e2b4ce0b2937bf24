//! What plans have besides formats and variants, at random: functions made for a range, expressions written differently, elements
//! a thread, code shapes, and records stored in other layouts. Other blocks (`reblock`) are for kernels that read nothing of the grid but the index in a row of threads, which random
//! kernels are not.
//!
//! Each is tried on a copy of the module and kept where the plan can be carried out with it, so that refusals of one do not
//! hide the others.
use crate::random_kernel::{self, RandomKernel};
use crate::random_plan::{random_plan, with_random_records};
use kerf_algebra::{CostTable, candidates, clusters};
use kerf_function::code::{MadeFunction, WorkingFormat};
use kerf_function::core_fit::EvaluationScheme;
use kerf_function::{ErrorMeasure, MadeRequest, MadeTarget, make};
use kerf_ir::kernels;
use kerf_ir::sites;
use kerf_llvm::{Module, Value};
use kerf_num::Format;
use kerf_num::random::SplitMix64;
use kerf_pass::coarsen::{CoarseAxis, Coarsening, FACTORS};
use kerf_pass::code_shape::{CodeShape, unmarked_latches};
use kerf_pass::made_calls::MadeCalls;
use kerf_pass::math::library_call;
use kerf_pass::plan::{KernelPlan, Plan};
use kerf_pass::site_format::SiteFormat;

/// Apart from the draws of formats and variants, so that those of a seed stay what they were.
const DIMENSIONS: u64 = 0xd1b5_4a32_d192_ed03;

/// Draws by a seed.
struct Draws(SplitMix64);

impl Draws {
    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.0.bits() % all.len() as u64) as usize]
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.0.bits().is_multiple_of(n)
    }
}

/// The plan of a seed for a prepared module of random kernels, with all that plans have.
pub fn whole_plan(m: &Module, seed: u64) -> Plan {
    let mut plan = random_plan(m, seed);
    add_dimensions(m, &mut plan, seed);
    with_random_records(m, plan, seed)
}

/// Adds dimensions to the plan of a seed, as far as its random kernels can have them.
fn add_dimensions(m: &Module, plan: &mut Plan, seed: u64) {
    let count = kernels::kernels(m).len();
    for (at, k) in random_kernel::module(seed, count)
        .kernels
        .iter()
        .enumerate()
    {
        let Some(f) = m.function(&k.name) else {
            continue;
        };
        let mut draws = Draws(SplitMix64::new(
            seed ^ DIMENSIONS.wrapping_mul(at as u64 + 1),
        ));
        let mut mine = plan.kernels.get(&k.name).cloned().unwrap_or_default();
        let steps: [&PlanStep; 4] = [
            &|p, d| rewritten(m, f, p, d),
            &|p, d| with_made_functions(m, f, p, d),
            &|p, d| coarsened(k, p, d),
            &|p, d| with_code_shape(f, p, d),
        ];
        for step in steps {
            let changed = step(mine.clone(), &mut draws);
            if changed != mine && can_be_carried_out(m, &k.name, &changed) {
                mine = changed;
            }
        }
        plan.kernels.insert(k.name.clone(), mine);
    }
}

/// What changes a kernel's plan by draws.
type PlanStep<'s> = dyn Fn(KernelPlan, &mut Draws) -> KernelPlan + 's;

/// Can the plan of one kernel be carried out?
fn can_be_carried_out(m: &Module, kernel: &str, mine: &KernelPlan) -> bool {
    let mut plan = Plan::default();
    plan.kernels.insert(kernel.to_owned(), mine.clone());
    plan.apply(&m.duplicate()).is_ok()
}

/// With clusters of expressions as some candidate has them. Their sites have no variants, and there is one version.
fn rewritten(m: &Module, f: Value, mut plan: KernelPlan, draws: &mut Draws) -> KernelPlan {
    if !draws.one_in(3) {
        return plan;
    }
    let costs = CostTable::new(|name| match name {
        "add" | "mul" | "fma" => 1.0,
        "rcp" | "rsqrt" => 6.0,
        "div" | "sqrt" => 9.0,
        _ => 30.0,
    });
    for c in clusters(m, f) {
        let found = candidates(&c, &costs);
        if found.is_empty() || draws.one_in(4) {
            continue;
        }
        let pick = draws.one_of(&(0..found.len()).collect::<Vec<_>>());
        plan.rewrites.push(found[pick].rewriting.clone());
    }
    if !plan.rewrites.is_empty() {
        let changed: Vec<usize> = plan.rewrites.iter().flat_map(|r| r.sites.clone()).collect();
        plan.math.retain(|site, _| !changed.contains(site));
        plan.partition = None;
    }
    plan
}

/// The format in which a made function of a site is computed.
fn working_format(format: SiteFormat) -> WorkingFormat {
    match format.word() {
        Format::F64 => WorkingFormat::F64,
        _ => WorkingFormat::F32,
    }
}

/// Ranges around the arguments that random kernels have.
const RANGES: [[f64; 2]; 5] = [
    [-1.0, 1.0],
    [-0.5, 0.75],
    [0.5, 2.0],
    [1.0, 8.0],
    [-8.0, 8.0],
];

/// A function for some range of its arguments.
fn made_function(name: &str, format: WorkingFormat, draws: &mut Draws) -> Option<MadeFunction> {
    let target = MadeTarget::find(name)?;
    let x = draws.one_of(&RANGES);
    let y = target.has_two_arguments().then(|| draws.one_of(&RANGES));
    let request = MadeRequest {
        target,
        x,
        y,
        error: draws.one_of(&[1e-2, 1e-4, 1e-6]),
        measure: ErrorMeasure::Absolute,
        format,
    };
    make(&request, EvaluationScheme::Horner)
        .ok()?
        .in_plans()
        .ok()
}

/// With some calls of math functions computed by functions made for a range.
fn with_made_functions(
    m: &Module,
    f: Value,
    mut plan: KernelPlan,
    draws: &mut Draws,
) -> KernelPlan {
    let rewritten: Vec<usize> = plan.rewrites.iter().flat_map(|r| r.sites.clone()).collect();
    let map = sites::sites(m, f);
    for (s, i) in map.sites.iter().zip(&map.instructions) {
        let Some(call) = library_call(*i) else {
            continue;
        };
        let format = plan.sites.get(&s.id).copied();
        let format = format.unwrap_or_else(|| s.format.into());
        if draws.one_in(2) || rewritten.contains(&s.id) || format.is_pair() {
            continue;
        }
        if let Some(function) = made_function(&call.name, working_format(format), draws) {
            plan.math.remove(&s.id);
            plan.made.push(MadeCalls {
                sites: vec![s.id],
                function,
            });
        }
    }
    plan
}

/// With several elements a thread.
fn coarsened(k: &RandomKernel, mut plan: KernelPlan, draws: &mut Draws) -> KernelPlan {
    let factor = draws.one_of(&FACTORS);
    let choice = Coarsening {
        factor,
        axis: draws.one_of(&[CoarseAxis::X, CoarseAxis::X, CoarseAxis::Y]),
        run: draws.one_of(&[None, Some(1), Some(factor / 2)]),
    };
    if !draws.one_in(3) && choice.launch(k.block).is_ok() {
        plan.coarsen = Some(choice);
    }
    plan
}

/// With a limit of registers, and loops unrolled.
fn with_code_shape(f: Value, mut plan: KernelPlan, draws: &mut Draws) -> KernelPlan {
    let registers = draws.one_of(&[None, Some(32), Some(64), Some(128)]);
    let unroll = draws.one_of(&[None, Some(1), Some(2), Some(3), Some(8)]);
    let has_loop = !unmarked_latches(f).is_empty();
    let shape = CodeShape {
        registers,
        unroll: unroll.filter(|_| has_loop),
    };
    if shape != CodeShape::default() {
        plan.code = Some(shape);
    }
    plan
}
