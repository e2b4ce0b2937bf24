//! What searches units: the processor's cores, or a GPU whose certificates other threads write.
use crate::{BatchSizes, GpuError, KERNELS, SearchWork, program, search_opening};
use kerf_exec::Executor;
use kerf_exec::cuda::{CudaExecutor, keep};
use kerf_hardround::certificate::{Header, UnitRecord};
use kerf_hardround::format::BinadeGrid;
use kerf_hardround::leaf::{FoundCases, Query, search};
use kerf_hardround::units::{Units, work};
use std::ops::{ControlFlow, Range};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Sub-blocks of a batch on a GPU: enough for all its multiprocessors, and little memory.
pub(crate) const BATCH: usize = 1024;
/// Threads that write certificates while a GPU searches.
const WRITERS: usize = 3;

/// A GPU with the kernels.
fn gpu(ordinal: i32) -> Result<CudaExecutor, GpuError> {
    let arch = format!("sm_{}", CudaExecutor::capability(ordinal)?);
    let compile = || -> Result<String, GpuError> {
        let module = program(&arch)?;
        Ok(kerf_ir::finish::ptx(&module, &arch)?)
    };
    // Opening the GPU takes as long as compiling for it.
    std::thread::scope(|scope| {
        let compiling = scope.spawn(compile);
        let _open = keep(ordinal)?;
        let ptx = compiling.join().map_err(|_| GpuError::CompilerPanicked)??;
        Ok(CudaExecutor::new(
            &ptx,
            &KERNELS.map(str::to_owned),
            ordinal,
        )?)
    })
}

/// The GPU of an engine, opened if it is not; says in `opened` when it was.
fn open<'a>(
    ordinal: i32,
    exec: &'a mut Option<CudaExecutor>,
    began: Instant,
    opened: &mut Option<f64>,
) -> Result<&'a mut dyn Executor, GpuError> {
    Ok(match exec {
        Some(e) => e,
        None => {
            let e = exec.insert(gpu(ordinal)?);
            *opened = Some(began.elapsed().as_secs_f64());
            e
        }
    })
}

/// The GPU of a process, by its number on the machine; more processes than GPUs share them.
pub fn own_gpu(local: usize) -> i32 {
    (local % gpus(local + 1)) as i32
}

/// GPUs of this machine, up to a number; at least one.
pub fn gpus(most: usize) -> usize {
    let there = |n: &usize| CudaExecutor::capability(*n as i32).is_ok();
    (0..most).take_while(there).count().max(1)
}

/// What searches units.
pub struct SearchEngine {
    /// Number of the GPU, and that GPU once it is open.
    gpu: Option<(i32, Option<CudaExecutor>)>,
    threads: usize,
    /// Seconds until the GPU was ready.
    pub opened: Option<f64>,
}

impl SearchEngine {
    /// The GPU of that number, or the processor.
    pub fn new(ordinal: Option<i32>, threads: usize) -> Result<SearchEngine, GpuError> {
        if let Some(n) = ordinal {
            CudaExecutor::capability(n)?;
        }
        Ok(SearchEngine {
            gpu: ordinal.map(|n| (n, None)),
            threads,
            opened: None,
        })
    }

    /// Searches units of a range of numbers, those for which `wanted` says so; `sink` gets each with its line of the
    /// certificate.
    pub fn search(
        &mut self,
        q: &Query,
        units: &Units,
        range: Range<u64>,
        header: &Header,
        wanted: impl Fn(u64) -> bool + Sync,
        mut sink: impl FnMut(UnitRecord, String) -> ControlFlow<()> + Send,
    ) -> Result<(), GpuError> {
        let Some((ordinal, exec)) = &mut self.gpu else {
            let each = |g: &BinadeGrid, scratch: &mut _| search(q, g, scratch);
            work(units, range, self.threads, wanted, each, |i, g, found| {
                let (unit, text) = line(header, i, &g, &found);
                sink(unit, text)
            });
            return Ok(());
        };
        let work = SearchWork {
            query: q,
            units,
            range,
            threads: self.threads,
            room: BatchSizes::usual(BATCH),
        };
        // Certificates take time: this thread has to keep the GPU busy.
        std::thread::scope(|scope| {
            let (send, results) = sync_channel(1024);
            // Theirs alone: when they end, nobody waits for them.
            let results = Arc::new(Mutex::new(results));
            let (written, lines) = sync_channel(1024);
            for _ in 0..WRITERS {
                let (results, written) = (results.clone(), written.clone());
                scope.spawn(move || {
                    loop {
                        let next = results.lock().ok().and_then(|r| r.recv().ok());
                        let Some((i, g, found)) = next else { return };
                        if written.send(line(header, i, &g, &found)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop((results, written));
            scope.spawn(move || {
                for (unit, text) in lines {
                    if sink(unit, text).is_break() {
                        return;
                    }
                }
            });
            let (began, opened) = (Instant::now(), &mut self.opened);
            search_opening(
                || open(*ordinal, exec, began, opened),
                &work,
                wanted,
                |i, g, found| match send.send((i, g, found)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                },
            )
        })?;
        if let Some((_, Some(e))) = &mut self.gpu {
            e.clear();
        }
        Ok(())
    }
}

/// A unit and its line of the certificate.
fn line(header: &Header, i: u64, g: &BinadeGrid, found: &FoundCases) -> (UnitRecord, String) {
    let unit = UnitRecord::new(header, i, g, found);
    let text = serde_json::to_string(&unit).unwrap_or_default();
    (unit, text)
}
