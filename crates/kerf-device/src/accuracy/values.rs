//! Operations whose results the host judges: arguments to the device, results back, all cores at work.
use super::exact::ExactFunction;
use super::subject::AccuracySubject;
use super::tally::{AccuracyTally, JudgedCase};
use kerf_exec::{Arg, BufferId, ExecError, Executor, Launch};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tuples of one launch.
const LAUNCH: usize = 1 << 17;
/// Tuples of one share of a core. Sums are over shares, in their order, so that they repeat whatever
/// the number of cores.
const SHARE: usize = 1 << 12;
const THREADS: usize = 128;

/// Runs an operation on tuples of arguments, one after the other as words, and judges the results.
pub fn run(
    s: &AccuracySubject,
    exec: &mut dyn Executor,
    kernel: &str,
    arguments: &[u64],
    tally: &mut AccuracyTally,
    progress: &mut dyn FnMut(f64),
) -> Result<(), ExecError> {
    let (wide, out) = (s.arity * s.argument.words(), s.result.words());
    let total = arguments.len() / wide;
    let room = total.min(LAUNCH);
    let buffers = [
        exec.alloc("in", room * wide * 8, 8)?,
        exec.alloc("out", room * out * 8, 8)?,
    ];
    for (n, part) in arguments.chunks(LAUNCH * wide).enumerate() {
        progress((n * LAUNCH) as f64 / total as f64);
        let results = launch(exec, kernel, buffers, part, wide, out)?;
        for t in judge(s, part, &results, n * LAUNCH) {
            tally.merge(t);
        }
    }
    Ok(())
}

/// Results of one launch. The device has equal words of all tuples side by side.
fn launch(
    exec: &mut dyn Executor,
    kernel: &str,
    [input, output]: [BufferId; 2],
    arguments: &[u64],
    wide: usize,
    out: usize,
) -> Result<Vec<u64>, ExecError> {
    let n = arguments.len() / wide;
    let mut bytes = Vec::with_capacity(arguments.len() * 8);
    for word in 0..wide {
        for tuple in arguments.chunks_exact(wide) {
            bytes.extend(tuple[word].to_le_bytes());
        }
    }
    exec.write(input, &bytes)?;
    let buffer = |id| Arg::Buffer { id, offset: 0 };
    exec.launch(&Launch {
        symbol: kernel,
        name: kernel,
        grid: [n.div_ceil(THREADS) as u32, 1, 1],
        block: [THREADS as u32, 1, 1],
        dynamic_shared: 0,
        args: &[
            buffer(input),
            buffer(output),
            Arg::Bytes((n as u32).to_le_bytes().to_vec()),
        ],
    })?;
    let words: Vec<u64> = exec
        .read(output)?
        .chunks_exact(8)
        .map(|b| b.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b)))
        .collect();
    Ok((0..n)
        .flat_map(|i| (0..out).map(move |w| w * n + i))
        .map(|at| words[at])
        .collect())
}

/// Judges tuples on all cores; one tally a share, in order.
fn judge(
    s: &AccuracySubject,
    arguments: &[u64],
    results: &[u64],
    base: usize,
) -> Vec<AccuracyTally> {
    let (wide, out) = (s.arity * s.argument.words(), s.result.words());
    let shares: Vec<(&[u64], &[u64])> = arguments
        .chunks(SHARE * wide)
        .zip(results.chunks(SHARE * out))
        .collect();
    let done: Vec<Mutex<Option<AccuracyTally>>> = shares.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let Some(mut reference) = ExactFunction::new(s.function, s.argument) else {
            return;
        };
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some((arguments, results)) = shares.get(n) else {
                break;
            };
            let first = (base + n * SHARE) as u64;
            let tuples = arguments.chunks_exact(wide).zip(results.chunks_exact(out));
            let t = one_share(s, &mut reference, (first..).zip(tuples));
            if let Ok(mut slot) = done[n].lock() {
                *slot = Some(t);
            }
        }
        // MPFR keeps constants for each thread.
        rug::float::free_cache(rug::float::FreeCache::Local);
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores.min(shares.len()) {
            scope.spawn(work);
        }
    });
    done.into_iter()
        .filter_map(|slot| slot.into_inner().ok().flatten())
        .collect()
}

fn one_share<'a>(
    s: &AccuracySubject,
    reference: &mut ExactFunction,
    tuples: impl Iterator<Item = (u64, (&'a [u64], &'a [u64]))>,
) -> AccuracyTally {
    let mut tally = AccuracyTally::new(s.documented.len());
    let rules = s.rules();
    for (index, (arguments, got)) in tuples {
        let place = s.place(arguments);
        tally.count(&place);
        if s.flushes && s.has_subnormal(arguments) {
            tally.flushed += 1;
            continue;
        }
        let exact = reference.at(arguments);
        let first = s.value(arguments, 0);
        let sample = JudgedCase {
            index,
            arguments,
            got,
        };
        tally.judge(&place, sample, first, exact, &rules);
    }
    tally
}
