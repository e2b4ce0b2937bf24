//! How counts look to people: the hottest sites by line, and what moved how many bytes.
use crate::output::Style;
use crate::table::Table;
use kerf_ir::kernels::shortened;
use kerf_pass::count::MemoryKind;
use kerf_run::job::{Device, KernelCounts, ProgramCounts, SiteCounts};
use std::fmt::Write;

/// Sites shown of a kernel.
const SHOWN: usize = 20;

fn memory(m: MemoryKind) -> &'static str {
    match m {
        MemoryKind::Global => "global",
        MemoryKind::Shared => "shared",
        MemoryKind::Local => "local",
        MemoryKind::Constant => "constant",
    }
}

fn range(s: &SiteCounts) -> String {
    match (s.seen.min_exponent, s.seen.max_exponent) {
        (Some(a), Some(b)) => format!("2^{a} .. 2^{b}"),
        _ => "-".into(),
    }
}

/// What the operation alone would lose in the next narrower format.
fn local(s: &SiteCounts) -> String {
    let l = s.seen.local.first();
    l.map_or(String::new(), |l| match l.largest {
        0.0 => format!("none in {}", l.format),
        x => format!("{x:.1e} in {}", l.format),
    })
}

fn remarks(s: &SiteCounts) -> String {
    let some = |n: u64, what: &str| (n > 0).then(|| format!("{n} {what}"));
    let all = [
        some(s.seen.zeros, "zero"),
        some(s.seen.infinite, "infinite"),
        some(s.seen.nan, "NaN"),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn kernel(o: &mut String, k: &KernelCounts, style: Style) {
    let _ = writeln!(
        o,
        "  counted {}: {} launch{}, {} threads",
        style.bold(&shortened(&k.name)),
        k.launches,
        if k.launches == 1 { "" } else { "es" },
        k.threads
    );
    let mut sites: Vec<&SiteCounts> = k.sites.iter().filter(|s| s.seen.count > 0).collect();
    sites.sort_by_key(|s| (std::cmp::Reverse(s.seen.count), s.id));
    let mut t = Table::new(
        3,
        [
            "line",
            "site",
            "operation",
            "count",
            "range",
            "bits",
            "cancels",
            "rounding alone",
            "also",
        ],
    );
    for s in sites.iter().take(SHOWN) {
        t.row([
            s.line.map_or("-".into(), |l| l.to_string()),
            s.id.to_string(),
            format!("{}.{}", s.op, s.format),
            s.seen.count.to_string(),
            range(s),
            s.seen.significant_bits.to_string(),
            s.seen.cancellation.map_or(String::new(), |c| c.to_string()),
            local(s),
            remarks(s),
        ]);
    }
    if !t.is_empty() {
        *o += &t.render(style);
    }
    if sites.len() > SHOWN {
        let _ = writeln!(
            o,
            "  and {} sites more (--format json)",
            sites.len() - SHOWN
        );
    }
    let mut t = Table::new(2, ["memory", "object", "bytes loaded", "stored", "atomic"]);
    for x in &k.traffic {
        t.row([
            memory(x.memory).to_owned(),
            x.name.clone().unwrap_or_else(|| "-".into()),
            x.loaded.to_string(),
            x.stored.to_string(),
            x.atomic.to_string(),
        ]);
    }
    if !t.is_empty() {
        *o += &t.render(style);
    }
}

/// Counts of a workload.
pub fn human(c: &ProgramCounts, style: Style) -> String {
    let mut o = String::new();
    if c.device == Device::Cuda {
        let _ = writeln!(o, "  counts: an instrumented run on the GPU");
    }
    for k in &c.kernels {
        kernel(&mut o, k, style);
    }
    for m in &c.made {
        let _ = writeln!(
            o,
            "  made function {} of the plan: {} of {} arguments outside of its range",
            m.number, m.outside, m.calls
        );
    }
    o
}
