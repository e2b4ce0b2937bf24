//! Plans at random, for tests that a plan gives the same bits wherever it is run.
use kerf_ir::kernels::{self, KernelInfo};
use kerf_ir::sites::{self, SiteMap};
use kerf_llvm::{Module, Opcode, Value};
use kerf_num::StorageFormat;
use kerf_num::random::SplitMix64;
use kerf_num::scaled::{ElementCode, ScaledFormat};
use kerf_pass::formats;
use kerf_pass::math::{self, MathVariant};
use kerf_pass::partition::{Partition, Select};
use kerf_pass::plan::{KernelPlan, Plan};
use kerf_pass::records::{self, RecordLayout, RecordPlan};
use kerf_pass::site_format::SiteFormat;
use kerf_pass::storage::{self, Object};
use std::collections::BTreeMap;

/// Draws by a seed.
struct Random(SplitMix64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0.bits() % n
    }
}

const FORMATS: [SiteFormat; 3] = [SiteFormat::F32, SiteFormat::F16, SiteFormat::Bf16];

/// The plan of a seed for a prepared module: of each kernel some, many or all sites, and some shared and
/// local arrays, in narrower machine formats; of half of the kernels some of these in a scaled format; some math sites in other variants; and half of the kernels in
/// two versions. What parameters point to stays as it is. In half of the kernels calls of math functions
/// stay too, and no site is approximated in f32, since the CPU executor only models that.
pub fn random_plan(m: &Module, seed: u64) -> Plan {
    let mut random = Random(SplitMix64::new(seed));
    let mut plan = Plan::default();
    for k in kernels::kernels(m) {
        let Some(f) = m.function(&k.symbol) else {
            continue;
        };
        let percent = [15, 50, 85, 100][random.below(4) as usize];
        let formats = match random.below(4) {
            0 => &FORMATS[..1],
            1 => &FORMATS[..2],
            _ => &FORMATS[..],
        };
        let math = random.below(2) == 0;
        let mut mine = KernelPlan::default();
        let map = sites::sites(m, f);
        for (s, i) in map.sites.iter().zip(&map.instructions) {
            let draw = random.below(100) < percent;
            let format = formats[random.below(formats.len() as u64) as usize];
            let call = i.opcode() == Some(Opcode::LLVMCall)
                && i.callee_name().is_some_and(|n| n.starts_with("__nv_"));
            if draw && (math || !call) && formats::check(*i, format).is_ok() {
                mine.sites.insert(s.id, format);
            }
        }
        let format = formats[random.below(formats.len() as u64) as usize];
        let held = StorageFormat::from(format.word());
        let can = storage::possible(m, f, &k, held);
        for (name, object) in storage::objects(f, &k) {
            // Variables of the program are filled by whoever runs it.
            if matches!(object, Object::Variable(_)) {
                continue;
            }
            let array = !matches!(object, Object::Parameter(_));
            if random.below(2) == 0 && array && can.contains(&name) {
                mine.storage.insert(name, held);
            }
        }
        let mut draw = Random(SplitMix64::new(
            seed ^ SCALES.wrapping_mul(plan.kernels.len() as u64 + 1),
        ));
        if draw.below(2) == 0 {
            scaled(m, f, &k, &mut draw, &mut mine);
        }
        // Arrays that share pointers with one that was left out stay as well.
        if !storage::fit_together(m, f, &k, &mine.storage) {
            mine.storage.clear();
        }
        let mut vary = Random(SplitMix64::new(
            seed ^ VARIANTS.wrapping_mul(plan.kernels.len() as u64 + 1),
        ));
        mine.math = variants(&mut vary, &map, &mine.sites, math);
        if vary.below(2) == 0 {
            partition(m, f, &mut vary, &map, &mut mine, math);
        }
        plan.kernels.insert(k.symbol.clone(), mine);
    }
    plan
}

/// The plan with records of some parameters stored otherwise, as far as they can be: each buffer is taken for one of records of
/// two to five fields, whatever the kernel makes of it. Parameters are named by number.
pub fn with_random_records(m: &Module, mut plan: Plan, seed: u64) -> Plan {
    let infos = kernels::kernels(m);
    for (at, k) in (1u64..).zip(&infos) {
        let Some(f) = m.function(&k.symbol) else {
            continue;
        };
        let mut random = Random(SplitMix64::new(seed ^ RECORDS.wrapping_mul(at)));
        for b in records::survey(m, f, k) {
            let layout = [RecordLayout::Planes, RecordLayout::Padded][random.below(2) as usize];
            let count = 2 + random.below(4) as usize;
            let fields = b.element.iter().cycle().take(count).copied().collect();
            let r = RecordPlan { fields, layout };
            let drawn = random.below(2) == 0 && b.element.len() == 1;
            if drawn && records::check(m, f, k, (&b.key, &r)).is_ok() {
                let mine = plan.kernels.entry(k.symbol.clone()).or_default();
                mine.records.insert(b.parameter.to_string(), r);
            }
        }
    }
    plan
}

/// Apart from the formats' draws, so that those of a seed stay what they were.
const RECORDS: u64 = 0x2545_f491_4f6c_dd1d;

/// Arrays in a scaled format, whatever their values are.
fn scaled(m: &Module, f: Value, k: &KernelInfo, random: &mut Random, mine: &mut KernelPlan) {
    let code = ElementCode::ALL[random.below(ElementCode::ALL.len() as u64) as usize];
    let exponent = random.below(21) as i16 - 16;
    let held = StorageFormat::Scaled(ScaledFormat { code, exponent });
    for name in storage::possible(m, f, k, held) {
        let array = storage::objects(f, k)
            .into_iter()
            .any(|(n, o)| n == name && matches!(o, Object::Shared(_) | Object::Local(_)));
        if array && random.below(4) > 0 {
            mine.storage.insert(name, held);
        }
    }
}

/// Apart from the formats' draws, so that those of a seed stay what they were.
const SCALES: u64 = 0x9fb2_1c65_1e98_df25;

/// Apart from the formats' draws, so that those of a seed stay what they were.
const VARIANTS: u64 = 0x5851_f42d_4c95_7f2d;

fn variants(
    random: &mut Random,
    map: &SiteMap,
    formats: &BTreeMap<usize, SiteFormat>,
    single: bool,
) -> BTreeMap<usize, MathVariant> {
    let mut out = BTreeMap::new();
    for (s, i) in map.sites.iter().zip(&map.instructions) {
        let format = formats.get(&s.id).copied();
        let format = format.unwrap_or_else(|| s.format.into());
        let exact = |v: &MathVariant| v.steps().is_some() || *v == MathVariant::Reciprocal;
        let mut can = math::variants(*i, format);
        can.retain(|v| single || exact(v));
        if !can.is_empty() && random.below(3) < 2 {
            out.insert(s.id, can[random.below(can.len() as u64) as usize]);
        }
    }
    out
}

/// The kernel as it is, or as the plan has it so far, beside what the plan has: which of them is cheap
/// makes no difference here.
fn partition(
    m: &Module,
    f: Value,
    random: &mut Random,
    map: &SiteMap,
    mine: &mut KernelPlan,
    single: bool,
) {
    let mut p = Partition {
        lambda: [0.0, 0.25, 0.5, 0.75, 1.0][random.below(5) as usize],
        select: [Select::Hash, Select::Warp][random.below(2) as usize],
        sites: mine.sites.clone(),
        math: variants(random, map, &mine.sites, single),
        made: Vec::new(),
    };
    if random.below(2) == 0 {
        std::mem::swap(&mut p.sites, &mut mine.sites);
        std::mem::swap(&mut p.math, &mut mine.math);
        mine.sites.clear();
        mine.math.retain(|id, v| {
            math::check(map.instructions[*id], *v, map.sites[*id].format.into()).is_ok()
        });
    }
    if mine.partition_fits(m, f, &p) {
        mine.partition = Some(p);
    }
}
