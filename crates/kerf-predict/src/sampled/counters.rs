//! Hardware counters of launches, as NVIDIA's `ncu --csv` writes them.
use crate::cost::Resource;
use serde::{Deserialize, Serialize};

/// Metrics that `ncu` is asked for, in the order of [`CounterRatios`]' fields.
pub const METRICS: [&str; 7] = [
    "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
];

/// Optional metrics: utilisation of units, which says what limits a launch.
pub const UNITS: [&str; 2] = [
    "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
];

/// All metrics, as `ncu --metrics` takes them.
pub fn requested_metrics() -> String {
    [&METRICS[..], &UNITS[..]].concat().join(",")
}

/// Utilisation and hit rates of a launch, each from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CounterRatios {
    /// Utilisation of issue slots.
    pub issue: f64,
    /// Utilisation of the bandwidth of device memory.
    pub dram: f64,
    /// Utilisation of the bandwidth of L2.
    pub l2: f64,
    /// Utilisation of the bandwidth of L1.
    pub l1: f64,
    /// Hit rate of L1, by sectors.
    pub l1_hits: f64,
    /// Hit rate of L2, by sectors.
    pub l2_hits: f64,
    /// Occupancy.
    pub occupancy: f64,
    /// Utilisation of the f64 units; 0 where that was not counted, as the next.
    #[serde(default)]
    pub double: f64,
    /// Utilisation of the units for special functions and conversions.
    #[serde(default)]
    pub special: f64,
}

/// Names of the features, in order.
pub const FEATURES: [&str; 7] = [
    "counters: issue slots used",
    "counters: DRAM bandwidth used",
    "counters: L2 bandwidth used",
    "counters: L1 bandwidth used",
    "counters: L1 hits",
    "counters: L2 hits",
    "counters: warps on a multiprocessor",
];

/// Utilisation from which on a resource limits a launch (Nsight Compute's guidance has 60 % as well).
const LIMITING_UTILISATION: f64 = 0.6;

/// Utilisation of device memory over that of L2 from which on L2 only forwards: 0.8 to 0.99 in kernels that read and write arrays
/// once on an H200.
const FORWARDING_RATIO: f64 = 0.75;

impl CounterRatios {
    /// The features.
    pub fn features(&self) -> Vec<f64> {
        vec![
            self.issue,
            self.dram,
            self.l2,
            self.l1,
            self.l1_hits,
            self.l2_hits,
            self.occupancy,
        ]
    }

    /// The resource that limits the launch: the most utilised, or latency where none is. L2 forwards all that device memory
    /// gives, so that it is a little more utilised where device memory is the limit.
    pub fn limit(&self) -> Resource {
        let all = [
            (self.dram, Resource::Dram),
            (self.l2, Resource::L2),
            (self.l1, Resource::LoadStore),
            (self.issue, Resource::Issue),
            (self.double, Resource::F64),
            (self.special, Resource::Special),
        ];
        let busiest = all
            .into_iter()
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .filter(|x| x.0 >= LIMITING_UTILISATION);
        match busiest.map(|x| x.1) {
            Some(Resource::L2)
                if self.dram >= LIMITING_UTILISATION && self.dram >= FORWARDING_RATIO * self.l2 =>
            {
                Resource::Dram
            }
            busiest => busiest.unwrap_or(Resource::Latency),
        }
    }
}

/// Counters of one launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaunchCounters {
    /// Kernel, as `ncu` names it.
    pub kernel: String,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks.
    pub grid: [u32; 3],
    /// What was counted.
    pub counters: CounterRatios,
}

/// Why a file of counters cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CounterError {
    /// No table.
    #[error(
        "there is no table of ncu in it (a line that begins with \"ID\"); help: ncu --csv --metrics {all} COMMAND", all = requested_metrics()
    )]
    NoTable,
    /// A table without what is needed.
    #[error("the table has no column {0:?}; help: write it with ncu --csv, without --page raw")]
    NoColumn(&'static str),
    /// ncu has no permission.
    #[error(
        "ncu has no permission to read the counters; help: an administrator can allow it (ERR_NVGPUCTRPERM at developer.nvidia.com)"
    )]
    Permission,
    /// A metric is missing.
    #[error("launch {0} has no {1}; help: ncu --csv --metrics {all} COMMAND", all = requested_metrics())]
    NoMetric(String, &'static str),
}

/// Fields of a line: separated by commas, in quotes, two quotes for one.
fn fields(line: &str) -> Vec<String> {
    let (mut out, mut now, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.trim_end().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                now.push('"');
                chars.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => out.push(std::mem::take(&mut now)),
            c => now.push(c),
        }
    }
    out.push(now);
    out
}

/// `(256, 1, 1)`.
fn extents(text: &str) -> [u32; 3] {
    let inner = text.trim_matches(['(', ')', ' ']);
    let mut out = [1; 3];
    for (slot, part) in out.iter_mut().zip(inner.split(',')) {
        *slot = part.trim().parse().unwrap_or(1);
    }
    out
}

/// Lines of a table that are of one launch.
struct LaunchRows {
    id: String,
    kernel: String,
    block: [u32; 3],
    grid: [u32; 3],
    /// Metrics by name, as fractions.
    metrics: Vec<(String, f64)>,
}

impl LaunchRows {
    fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|m| m.0 == name).map(|m| m.1)
    }

    fn counters(self) -> Result<LaunchCounters, CounterError> {
        let mut required = [0.0; METRICS.len()];
        for (slot, name) in required.iter_mut().zip(METRICS) {
            let missing = || CounterError::NoMetric(format!("{} ({})", self.id, self.kernel), name);
            *slot = self.metric(name).ok_or_else(missing)?;
        }
        let [double, special] = UNITS.map(|name| self.metric(name).unwrap_or(0.0));
        let [issue, dram, l2, l1, l1_hits, l2_hits, occupancy] = required;
        Ok(LaunchCounters {
            kernel: self.kernel,
            block: self.block,
            grid: self.grid,
            counters: CounterRatios {
                issue,
                dram,
                l2,
                l1,
                l1_hits,
                l2_hits,
                occupancy,
                double,
                special,
            },
        })
    }
}

/// Launches of a table as `ncu --csv` writes it: one line a metric, after lines of other output.
pub fn parse(text: &str) -> Result<Vec<LaunchCounters>, CounterError> {
    if text.contains("ERR_NVGPUCTRPERM") {
        return Err(CounterError::Permission);
    }
    let mut lines = text.lines().skip_while(|l| !l.starts_with("\"ID\""));
    let head = fields(lines.next().ok_or(CounterError::NoTable)?);
    let column = |name: &'static str| {
        let at = head.iter().position(|h| h == name);
        at.ok_or(CounterError::NoColumn(name))
    };
    let (id, kernel) = (column("ID")?, column("Kernel Name")?);
    let (block, grid) = (column("Block Size")?, column("Grid Size")?);
    let (metric, value) = (column("Metric Name")?, column("Metric Value")?);
    let mut all: Vec<LaunchRows> = Vec::new();
    for line in lines {
        let f = fields(line);
        if f.len() != head.len() {
            continue;
        }
        let Ok(percent) = f[value].replace(',', "").parse::<f64>() else {
            continue;
        };
        let measured = (f[metric].clone(), percent / 100.0);
        match all.last_mut().filter(|l| l.id == f[id]) {
            Some(l) => l.metrics.push(measured),
            None => all.push(LaunchRows {
                id: f[id].clone(),
                kernel: f[kernel].clone(),
                block: extents(&f[block]),
                grid: extents(&f[grid]),
                metrics: vec![measured],
            }),
        }
    }
    if all.is_empty() {
        return Err(CounterError::NoTable);
    }
    all.into_iter().map(LaunchRows::counters).collect()
}

/// A kernel's name without return type, parameters and template arguments.
fn bare(name: &str) -> &str {
    let name = name.strip_prefix("void ").unwrap_or(name);
    name.split(['(', '<']).next().unwrap_or(name).trim()
}

/// The counters of a launch by kernel (name or symbol), block and grid; the first of several.
pub fn find<'c>(
    all: &'c [LaunchCounters],
    names: &[&str],
    block: [u32; 3],
    grid: [u32; 3],
) -> Option<&'c CounterRatios> {
    let is = |c: &&LaunchCounters| {
        let named = |n: &&str| **n == c.kernel || bare(n) == bare(&c.kernel);
        (c.block, c.grid) == (block, grid) && names.iter().any(named)
    };
    all.iter().find(is).map(|c| &c.counters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(kernel: &str) -> String {
        let mut t = String::from(
            "==PROF== Connected to process 1\nrun,took\n\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n",
        );
        for (i, m) in METRICS.iter().chain(&UNITS).enumerate() {
            let value = 10 * (i + 1);
            t += &format!(
                "\"0\",\"1\",\"{kernel}\",\"(256, 1, 1)\",\"(1,024, 1, 1)\",\"{m}\",\"%\",\"{value}.5\"\n"
            )
            .replace("1,024", "1024");
        }
        t
    }

    #[test]
    fn tables_are_read() {
        let all = parse(&table("void scale<double>(double*, int)")).expect("a table");
        assert_eq!(
            (all.len(), all[0].block, all[0].grid),
            (1, [256, 1, 1], [1024, 1, 1])
        );
        let c = all[0].counters;
        assert!((c.issue - 0.105).abs() < 1e-12 && (c.occupancy - 0.705).abs() < 1e-12);
        assert!((c.special - 0.905).abs() < 1e-12);
        assert_eq!(c.features().len(), FEATURES.len());
        // Units may be left out.
        let short = table("k").lines().take(10).collect::<Vec<_>>().join("\n");
        assert_eq!(parse(&short).expect("a table")[0].counters.double, 0.0);
        let found = |n: &str| find(&all, &[n], [256, 1, 1], [1024, 1, 1]).is_some();
        assert!(found("scale") && found("scale<double>") && !found("other"));
        assert!(find(&all, &["scale"], [128, 1, 1], [1024, 1, 1]).is_none());
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(parse("nothing"), Err(CounterError::NoTable));
        assert_eq!(
            parse("==ERROR== ERR_NVGPUCTRPERM"),
            Err(CounterError::Permission)
        );
        let cut: String = table("k")
            .lines()
            .take(6)
            .map(|l| format!("{l}\n"))
            .collect();
        assert!(matches!(parse(&cut), Err(CounterError::NoMetric(_, m)) if m == METRICS[3]));
        assert_eq!(
            parse("\"ID\",\"Kernel Name\"\n"),
            Err(CounterError::NoColumn("Block Size"))
        );
    }

    #[test]
    fn limits() {
        let busy = CounterRatios {
            dram: 0.9,
            issue: 0.7,
            ..CounterRatios::default()
        };
        assert_eq!(busy.limit(), Resource::Dram);
        assert_eq!(CounterRatios::default().limit(), Resource::Latency);
        let units = CounterRatios {
            double: 0.95,
            ..busy
        };
        assert_eq!(units.limit(), Resource::F64);
        let stream = CounterRatios {
            l2: 0.96,
            dram: 0.87,
            ..CounterRatios::default()
        };
        assert_eq!(stream.limit(), Resource::Dram);
        let near = CounterRatios {
            dram: 0.62,
            ..stream
        };
        assert_eq!(near.limit(), Resource::L2);
    }
}
