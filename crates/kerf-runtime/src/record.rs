//! Launches with their inputs, as they are kept for `kerf record`.
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// One buffer of a launch.
#[derive(Serialize)]
pub struct Buffer {
    /// Number of the allocation; none for a variable.
    pub allocation: Option<usize>,
    /// Symbol of a variable.
    pub symbol: Option<String>,
    /// File of its content before the launch.
    pub file: String,
    /// How many it has.
    pub bytes: usize,
    /// Scalars of an element, as offset and type, and its bytes.
    pub element: Option<(Vec<(u64, String)>, u64)>,
    /// Did the launch change it?
    pub changed: bool,
    /// Where it is.
    #[serde(skip)]
    pub address: u64,
    /// Its content before the launch, while that runs.
    #[serde(skip)]
    pub before: Vec<u8>,
}

/// One launch.
#[derive(Serialize)]
pub struct RecordedLaunch {
    /// Name of the kernel.
    pub kernel: String,
    /// Its symbol.
    pub symbol: String,
    /// Its unit.
    pub unit: usize,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: usize,
    /// Arguments, as a workload has them.
    pub args: Vec<Value>,
    /// What they point to, and the unit's variables.
    pub buffers: Vec<Buffer>,
    /// Why it cannot be a workload.
    pub unusable: Option<String>,
}

/// What is kept.
#[derive(Default)]
pub struct LaunchRecord {
    most: usize,
    seen: BTreeMap<String, usize>,
    /// Launches, in order.
    launches: Vec<RecordedLaunch>,
    /// By symbol, launches that changed nothing: how many, and one of them.
    idle: BTreeMap<String, (usize, RecordedLaunch)>,
    open: bool,
}

/// A simulation that starts from rest writes zeros over zeros at first: that many launches are let pass.
const PATIENCE: usize = 100;

impl LaunchRecord {
    /// As the environment says; nothing without it.
    pub fn from_environment() -> LaunchRecord {
        let most = std::env::var("KERF_RECORD")
            .ok()
            .and_then(|v| v.parse().ok());
        LaunchRecord {
            most: most.unwrap_or(0),
            ..LaunchRecord::default()
        }
    }

    /// A kernel is launched: the number that its launch has, if it is to be kept.
    pub fn next(&mut self, symbol: &str) -> Option<usize> {
        let seen = self.seen.entry(symbol.to_owned()).or_insert(0);
        *seen += 1;
        (*seen <= self.most).then_some(self.launches.len())
    }

    /// A launch begins.
    pub fn begin(&mut self, r: RecordedLaunch) {
        self.launches.push(r);
        self.open = true;
    }

    /// The launch that began last, if it has not ended; [`Record::end`] takes it back.
    pub fn take_open(&mut self) -> Option<RecordedLaunch> {
        match std::mem::take(&mut self.open) {
            true => self.launches.pop(),
            false => None,
        }
    }

    /// A launch has ended, and it is known what it changed.
    pub fn end(&mut self, r: RecordedLaunch) {
        let tries = self.idle.get(&r.symbol).map_or(0, |i| i.0);
        if r.buffers.iter().any(|b| b.changed) || r.unusable.is_some() || tries >= PATIENCE {
            self.launches.push(r);
        } else {
            // The next one takes its number, and its files.
            if let Some(seen) = self.seen.get_mut(&r.symbol) {
                *seen -= 1;
            }
            self.idle.insert(r.symbol.clone(), (tries + 1, r));
        }
    }

    /// The launches; of a kernel that never changed anything, one that says so.
    pub fn all(&self) -> Vec<&RecordedLaunch> {
        let has = |s: &String| self.launches.iter().any(|r| r.symbol == *s);
        let idle = self.idle.iter().filter(|(s, _)| !has(s));
        self.launches
            .iter()
            .chain(idle.map(|(_, (_, r))| r))
            .collect()
    }
}
