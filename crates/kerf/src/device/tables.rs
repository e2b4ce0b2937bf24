//! The tables of a profile.
use super::marks::{Marks, UNKNOWN};
use crate::table::Table;
use kerf_device::operation::{CONVERTED, FunctionVariant, Operation, OperationClass, catalogue};
use kerf_device::picture::short_number;
use kerf_device::profile::{Accuracy, DeviceProfile, Figure, OperationProfile, Sass};

/// Functions in the order of the latency table.
const FUNCTIONS: [&str; 17] = [
    "add", "mul", "min", "fma", "div", "rcp", "sqrt", "rsqrt", "sin", "cos", "tan", "tanh", "exp",
    "exp2", "log", "log2", "pow",
];

/// Columns of the latency table: format, suffix of the key, heading.
const COLUMNS: [(&str, &str, &str); 12] = [
    ("f32", "", "f32"),
    ("f32", ".sfu", "f32 fast"),
    ("f64", "", "f64"),
    ("f64", ".sfu", "f64 fast"),
    ("f16", "", "f16"),
    ("f16", ".sfu", "f16 fast"),
    ("bf16", "", "bf16"),
    ("f16x2", "", "f16x2"),
    ("bf16x2", "", "bf16x2"),
    ("i32", "", "i32"),
    ("dw32", "", "float2"),
    ("dw64", "", "double2"),
];

/// A figure for each function and format; columns and rows without any are left out.
pub fn by_format(
    p: &DeviceProfile,
    marks: &Marks,
    of: impl Fn(&OperationProfile) -> &Figure,
) -> Option<Table> {
    let get = |function: &str, (format, suffix, _): (&str, &str, &str)| {
        let o = p.operations.get(&format!("{function}.{format}{suffix}"))?;
        Some(of(o)).filter(|f| f.value.is_some())
    };
    let columns: Vec<_> = COLUMNS
        .into_iter()
        .filter(|c| FUNCTIONS.iter().any(|f| get(f, *c).is_some()))
        .collect();
    let head = std::iter::once("").chain(columns.iter().map(|c| c.2));
    let mut t = Table::new(1, head);
    for f in FUNCTIONS {
        if columns.iter().all(|c| get(f, *c).is_none()) {
            continue;
        }
        let cell = |c: &(&str, &str, &str)| {
            let known = get(f, *c);
            known.map_or(UNKNOWN.to_owned(), |x| marks.figure(x))
        };
        t.row(std::iter::once(f.to_owned()).chain(columns.iter().map(cell)));
    }
    (!t.is_empty()).then_some(t)
}

/// The error that an accuracy states, in its own measure.
pub fn error(a: &Accuracy, marks: &Marks) -> String {
    let mark = marks.mark(&a.source);
    let ulp = |v: f64| format!("{} ulp {mark}", short_number(v));
    if let Some(v) = a.max_ulp_real {
        return ulp(v);
    }
    if let Some(v) = a.max_ulp_rounded {
        return match v == 0.0 {
            true => format!("rounded {mark}"),
            false => ulp(v),
        };
    }
    let stated = [(a.max_rel, "rel"), (a.max_abs, "abs"), (a.mean_rel, "mean")];
    match stated.into_iter().find_map(|(v, what)| Some((v?, what))) {
        Some((0.0, what)) => format!("0 {what} {mark}"),
        Some((v, what)) => format!("{v:.2e} {what} {mark}"),
        None => UNKNOWN.into(),
    }
}

fn units(s: &Option<Sass>) -> String {
    match s {
        Some(s) => format!(
            "{}/{}/{}",
            short_number(s.sfu),
            short_number(s.sp),
            short_number(s.dp)
        ),
        None => UNKNOWN.into(),
    }
}

fn version(o: &Operation) -> &'static str {
    match (o.variant, o.format) {
        (FunctionVariant::Sfu, _) => "SFU",
        (FunctionVariant::Cmp, _) => "CMP",
        (FunctionVariant::Accurate, "dw32") => "float2",
        (FunctionVariant::Accurate, "dw64") => "double2",
        (FunctionVariant::Accurate, _) => "accurate",
    }
}

fn known(p: &DeviceProfile, classes: &[OperationClass]) -> Vec<(Operation, OperationProfile)> {
    let ours = catalogue()
        .into_iter()
        .filter(|o| classes.contains(&o.class));
    ours.filter_map(|o| {
        let k = p.operations.get(&o.key)?.clone();
        Some((o, k))
    })
    .collect()
}

/// Everything known of arithmetic and functions.
pub fn functions(p: &DeviceProfile, marks: &Marks) -> Option<Table> {
    let mut t = Table::new(
        3,
        [
            "function",
            "format",
            "version",
            "latency",
            "error",
            "registers",
            "SFU/SP/DP",
            "per clock",
            "pJ",
        ],
    );
    for (o, k) in known(p, &[OperationClass::Arithmetic, OperationClass::Function]) {
        t.row([
            o.function.to_owned(),
            o.format.to_owned(),
            version(&o).to_owned(),
            marks.figure(&k.latency),
            k.accuracy
                .as_ref()
                .map_or(UNKNOWN.into(), |a| error(a, marks)),
            marks.figure(&k.registers),
            units(&k.sass),
            marks.figure(&k.throughput),
            marks.figure(&k.energy_pj),
        ]);
    }
    (!t.is_empty()).then_some(t)
}

/// Throughput of conversions, from the formats on the left to those on top.
pub fn conversions(p: &DeviceProfile, marks: &Marks) -> Option<Table> {
    let get = |from: &str, to: &str| p.operations.get(&format!("convert.{from}.{to}"));
    let mut t = Table::new(1, std::iter::once("from / to").chain(CONVERTED));
    for from in CONVERTED {
        if CONVERTED.iter().all(|to| get(from, to).is_none()) {
            continue;
        }
        let cell = |to: &&str| match get(from, to) {
            Some(o) => marks.figure(&o.throughput),
            None if from == *to => String::new(),
            None => UNKNOWN.into(),
        };
        t.row(std::iter::once(from.to_owned()).chain(CONVERTED.iter().map(cell)));
    }
    (!t.is_empty()).then_some(t)
}

/// Selects, shuffles, loads and atomics.
pub fn others(p: &DeviceProfile, marks: &Marks) -> Option<Table> {
    let mut t = Table::new(1, ["operation", "latency", "per clock", "pJ"]);
    for (o, k) in known(p, &[OperationClass::Select, OperationClass::Memory]) {
        t.row([
            o.key,
            marks.figure(&k.latency),
            marks.figure(&k.throughput),
            marks.figure(&k.energy_pj),
        ]);
    }
    (!t.is_empty()).then_some(t)
}

/// Limits, with their units: name, figure, unit.
pub fn limits(p: &DeviceProfile) -> Vec<(&'static str, &Figure, &'static str)> {
    let l = &p.limits;
    vec![
        ("multiprocessors", &l.sms, ""),
        ("clock", &l.clock_mhz, "MHz"),
        ("warps per SM", &l.warps_per_sm, ""),
        ("blocks per SM", &l.blocks_per_sm, ""),
        ("threads per block", &l.threads_per_block, ""),
        ("registers per SM", &l.registers_per_sm, ""),
        ("registers per thread", &l.registers_per_thread, ""),
        ("unit of registers, per warp", &l.register_unit, ""),
        ("schedulers per SM", &l.schedulers_per_sm, ""),
        ("shared memory per SM", &l.shared_per_sm, "bytes"),
        ("shared memory per block", &l.shared_per_block, "bytes"),
        ("unit of shared memory", &l.shared_unit, "bytes"),
        (
            "shared memory reserved per block",
            &l.shared_reserved,
            "bytes",
        ),
        ("L2 cache", &l.l2_bytes, "bytes"),
        ("memory", &l.memory_bytes, "bytes"),
        ("copy bandwidth", &l.copy_bandwidth, "bytes/s"),
        ("L2 bandwidth", &l.l2_bandwidth, "bytes/s"),
        ("launch overhead", &l.launch_overhead, "s"),
        ("transactions under way (P)", &l.memory_overlap, ""),
        (
            "memory's part where warps contend (lambda_0)",
            &l.contention_lambda,
            "",
        ),
        ("power at rest", &l.idle_power, "W"),
        ("power limit", &l.power_limit, "W"),
    ]
}

/// A limit in the unit that people use for it.
pub fn limit(v: f64, unit: &str) -> String {
    let scaled = |v: f64, unit: &str| format!("{} {unit}", short_number(v));
    match unit {
        "bytes" if v >= 1024.0 * 1024.0 * 1024.0 => scaled(v / 1024f64.powi(3), "GiB"),
        "bytes" if v >= 1024.0 * 1024.0 => scaled(v / 1024f64.powi(2), "MiB"),
        "bytes" if v >= 1024.0 => scaled(v / 1024.0, "KiB"),
        "bytes/s" => scaled(v / 1e9, "GB/s"),
        "s" => scaled(v * 1e6, "us"),
        "" => short_number(v),
        _ => scaled(v, unit),
    }
}
