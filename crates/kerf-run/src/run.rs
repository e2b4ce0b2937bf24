//! Running a workload on an executor: inputs in, launches in order, outputs and times out.
use crate::bind::bind;
use crate::held::{HeldBuffer, shift_offsets};
use kerf_clang::sha256;
use kerf_exec::cuda::DeviceMemory;
use kerf_exec::digest::digest_bytes;
use kerf_exec::{Arg, BufferId, ExecError, Executor, Launch};
use kerf_ir::kernels::{GlobalInfo, KernelInfo, find};
use kerf_pass::{Coarsening, index_space, reblock};
use kerf_workload::expand::{ArgValue, ConcreteLaunch, ConcreteStep, expand};
use kerf_workload::finite::all_finite;
use kerf_workload::generate::perturb::Perturb;
use kerf_workload::generate::special::InputChange;
use kerf_workload::generate::{GenerateError, generate};
use kerf_workload::mistakes::{Mistake, Mistakes};
use kerf_workload::suggest::did_you_mean;
use kerf_workload::workload::{BufferSpec, Defined, Workload};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a workload did not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The workload file is wrong.
    #[error("{0}")]
    Workload(Mistakes),
    /// The executor failed.
    #[error("{0}")]
    Exec(#[from] ExecError),
}

impl From<Mistakes> for RunError {
    fn from(m: Mistakes) -> Self {
        RunError::Workload(m)
    }
}

/// Inputs of at most this many bytes are kept in memory beside the buffers.
pub(crate) const KEPT_BYTES: usize = 96 << 20;

/// A workload and the program it runs, checked against each other.
pub struct WorkloadSession<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// Kernels of the program.
    pub kernels: &'a [KernelInfo],
    /// Variables of the program.
    pub globals: &'a [GlobalInfo],
    /// Launch-space parameters.
    pub params: BTreeMap<String, i64>,
    /// Seed of the inputs.
    pub seed: u64,
    /// How each buffer is held on the device where not in its own format; empty: all in their own.
    pub storage: Vec<Option<HeldBuffer>>,
    /// Changes to the inputs.
    pub perturb: Option<Perturb>,
    /// Inputs at the edges of their formats.
    pub change: InputChange,
    /// What kernels that run in two versions get as their last argument, by symbol.
    pub lambda: BTreeMap<String, f32>,
    /// Warp-sized blocks that go into one, for kernels whose index space a plan changes, by symbol.
    pub regroup: BTreeMap<String, u32>,
    /// Threads along x of other blocks, by symbol.
    pub reblock: BTreeMap<String, u32>,
    /// Kernels of which a thread does the work of several, by symbol.
    pub coarsen: BTreeMap<String, Coarsening>,
    /// Buffers as kernels declare them, where these say themselves how they are held.
    pub declared: Option<Vec<BufferSpec>>,
}

impl<'a> WorkloadSession<'a> {
    /// The program as it is, with the file's parameters and inputs.
    pub fn plain(
        workload: &'a Workload,
        kernels: &'a [KernelInfo],
        globals: &'a [GlobalInfo],
    ) -> WorkloadSession<'a> {
        WorkloadSession {
            workload,
            kernels,
            globals,
            params: workload.launch_space.default_params(),
            seed: workload.seed,
            storage: Vec::new(),
            perturb: None,
            change: InputChange::default(),
            lambda: BTreeMap::new(),
            regroup: BTreeMap::new(),
            reblock: BTreeMap::new(),
            coarsen: BTreeMap::new(),
            declared: None,
        }
    }
}

/// First contents of all buffers, as the device holds them. Several programs can share them.
pub type Contents = Arc<Vec<Vec<u8>>>;

/// The digest of inputs from those of their buffers, wherever these were computed.
pub(crate) fn digest_inputs(buffers: &[[u64; 2]]) -> String {
    let words = buffers.iter().flatten();
    let bytes: Vec<u8> = words.flat_map(|w| w.to_le_bytes()).collect();
    sha256(&bytes)
}

/// First contents of all buffers on a GPU.
pub type DeviceContents = Arc<Vec<Arc<DeviceMemory>>>;

/// First contents of all buffers, where a program takes them from.
#[derive(Debug, Clone)]
pub enum FirstContents {
    /// This process's memory.
    Host(Contents),
    /// The GPU that the program runs on.
    Device(DeviceContents),
}

/// Buffers of a session on an executor.
pub struct LoadedBuffers {
    /// One for each buffer of the workload.
    pub ids: Vec<BufferId>,
    /// First contents, kept for the next repeat where they are small together; others are made anew.
    initial: Option<FirstContents>,
    /// Position of the storage of each output after all swaps.
    pub binding: Vec<usize>,
}

fn mistake(w: &Workload, line: usize, what: String, expected: String) -> Mistake {
    Mistake {
        file: w.path.clone(),
        line,
        column: if line > 0 { 1 } else { 0 },
        span: 0..0,
        what,
        expected,
        help: None,
    }
}

/// A buffer whose first contents could not be made, as a mistake at the buffer.
fn unmade(w: &Workload, b: &BufferSpec, e: &GenerateError) -> Mistakes {
    let (expected, help) = match e {
        GenerateError::Memory { .. } => (
            "a buffer that fits this machine's memory",
            "choose smaller sizes, e.g. --size n=4096",
        ),
        GenerateError::Expr { .. } | GenerateError::Unfit { .. } => (
            "an `expr` with a value of the type for every scalar",
            "select(c, a, b) evaluates only what it needs",
        ),
        GenerateError::Init { .. } => (
            "an `init` that suits the buffer",
            "docs/reference/workload.md lists them",
        ),
        GenerateError::File { .. } => {
            ("a readable .npy file", "check the path and its permissions")
        }
    };
    let mut all = Mistakes::none();
    all.push(Mistake {
        help: Some(help.into()),
        ..mistake(w, b.line, e.to_string(), expected.into())
    });
    all
}

/// A buffer that the device has no memory for, as a mistake at the buffer.
fn no_room(w: &Workload, b: &BufferSpec, e: ExecError) -> RunError {
    let ExecError::Memory(why) = e else {
        return RunError::Exec(e);
    };
    let mut all = Mistakes::none();
    let m = mistake(
        w,
        b.line,
        format!("buffer `{}`: {why}", b.name),
        "a buffer that fits the device's memory".into(),
    );
    all.push(Mistake {
        help: Some("choose smaller sizes, e.g. --size n=4096".into()),
        ..m
    });
    RunError::Workload(all)
}

impl<'a> WorkloadSession<'a> {
    /// Buffers of the types that the kernels' parameters have.
    fn declared(&self) -> &[BufferSpec] {
        self.declared.as_ref().unwrap_or(&self.workload.buffers)
    }

    pub(crate) fn held(&self, buffer: usize) -> Option<HeldBuffer> {
        self.storage.get(buffer).cloned().flatten()
    }

    #[allow(clippy::result_large_err)] // made once, on the way out
    fn kernel(&self, l: &ConcreteLaunch) -> Result<&'a KernelInfo, Mistake> {
        find(self.kernels, &l.kernel).map_err(|have| {
            let (expected, help) = if have.is_empty() {
                (
                    format!("a kernel in {}", self.workload.source.display()),
                    Some("kerf inspect shows what a source defines".into()),
                )
            } else {
                (
                    format!("one of {}", have.join(", ")),
                    did_you_mean(&l.kernel, have.iter().map(String::as_str)),
                )
            };
            let m = mistake(
                self.workload,
                l.line,
                format!("the source has no kernel `{}`", l.kernel),
                expected,
            );
            Mistake { help, ..m }
        })
    }

    #[allow(clippy::result_large_err)] // made once, on the way out
    fn variable(&self, symbol: &str, line: usize) -> Result<&'a GlobalInfo, Mistake> {
        let hit = self
            .globals
            .iter()
            .find(|g| g.symbol == symbol || g.name == symbol);
        let hit = hit.or_else(|| {
            self.globals
                .iter()
                .find(|g| g.name.rsplit("::").next() == Some(symbol))
        });
        hit.ok_or_else(|| {
            let have: Vec<&str> = self.globals.iter().map(|g| g.name.as_str()).collect();
            let expected = if have.is_empty() {
                "a source with such a variable".into()
            } else {
                format!("one of {}", have.join(", "))
            };
            let m = mistake(
                self.workload,
                line,
                format!("the source has no __constant__ or __device__ variable `{symbol}`"),
                expected,
            );
            Mistake {
                help: did_you_mean(symbol, have),
                ..m
            }
        })
    }

    /// Symbol of the variable that a buffer is bound to; none if it is bound to none, or to one that is not there.
    pub(crate) fn symbol_of(&self, b: &BufferSpec) -> Option<&'a str> {
        let found = self.variable(b.symbol.as_deref()?, b.line).ok()?;
        Some(&found.symbol)
    }

    /// Checks every distinct launch against the signatures; gives all mistakes, and the symbols of
    /// the kernels that are launched.
    pub fn check(&self) -> Result<Vec<String>, Mistakes> {
        let mut wrong = Mistakes::none();
        let mut used = Vec::new();
        let ids: Vec<BufferId> = (0..self.workload.buffers.len()).map(BufferId).collect();
        for b in self.declared() {
            if let Some(s) = &b.symbol {
                match self.variable(s, b.line) {
                    Err(m) => wrong.push(m),
                    Ok(g) if b.bytes().is_none_or(|n| n as u64 > g.bytes) => wrong.push(mistake(
                        self.workload,
                        b.line,
                        format!("buffer `{}` is larger than the variable `{s}`", b.name),
                        format!("at most {} bytes", g.bytes),
                    )),
                    Ok(_) => {}
                }
            }
        }
        let mut seen: Vec<(usize, usize)> = Vec::new();
        for step in expand(self.workload, &self.params)? {
            let ConcreteStep::Launch(l) = step? else {
                continue;
            };
            // One report a line of the file is enough, however often a loop repeats it.
            if seen.contains(&(l.line, l.args.len())) {
                continue;
            }
            seen.push((l.line, l.args.len()));
            match self.kernel(&l) {
                Err(m) => wrong.push(m),
                Ok(k) => {
                    if !used.contains(&k.symbol) {
                        used.push(k.symbol.clone());
                    }
                    if let Err(misfits) = bind(&l, k, self.declared(), &ids) {
                        for m in misfits {
                            wrong.push(mistake(self.workload, l.line, m.what, m.expected));
                        }
                    }
                }
            }
        }
        if wrong.is_empty() {
            Ok(used)
        } else {
            Err(wrong)
        }
    }

    /// First contents of all buffers.
    pub fn contents(&self) -> Result<Contents, RunError> {
        let all = (0..self.workload.buffers.len()).map(|b| self.first_content(b));
        Ok(Arc::new(all.collect::<Result<_, _>>()?))
    }

    /// First contents of all buffers in their own formats; none where they are larger together than what may be kept.
    pub fn originals(&self, most_bytes: usize) -> Result<Option<Contents>, RunError> {
        let bytes = self.workload.buffers.iter().map(|b| b.bytes());
        let total = bytes.fold(0usize, |n, b| n.saturating_add(b.unwrap_or(usize::MAX)));
        if total > most_bytes {
            return Ok(None);
        }
        let all = self.workload.buffers.iter().map(|b| self.made(b));
        Ok(Some(Arc::new(all.collect::<Result<_, _>>()?)))
    }

    /// First contents as the device holds them, from those in their own formats.
    pub fn as_held(&self, originals: &Contents) -> Contents {
        if self.storage.iter().all(Option::is_none) {
            return originals.clone();
        }
        let each = originals.iter().enumerate().map(|(i, bytes)| {
            let held = self.held(i);
            held.map_or_else(|| bytes.clone(), |h| h.narrow(bytes))
        });
        Arc::new(each.collect())
    }

    /// Makes the buffers and their first contents.
    pub fn load(&self, exec: &mut dyn Executor) -> Result<LoadedBuffers, RunError> {
        self.load_with(exec, None)
    }

    /// Makes the buffers, and their first contents where they are not given.
    pub fn load_with(
        &self,
        exec: &mut dyn Executor,
        contents: Option<FirstContents>,
    ) -> Result<LoadedBuffers, RunError> {
        let mut ids = Vec::new();
        let mut total = 0usize;
        for (i, b) in self.workload.buffers.iter().enumerate() {
            let bytes = b.bytes().unwrap_or(usize::MAX);
            let on_device = |n: usize| self.held(i).map_or(n, |h| h.bytes(n));
            let element = |n: usize| self.held(i).map_or(n, |h| h.element_bytes(n));
            let (bytes, size) = (on_device(bytes), element(b.elem.size()));
            total = total.saturating_add(bytes);
            ids.push(match &b.symbol {
                Some(s) => {
                    let g = self.variable(s, b.line).map_err(|m| {
                        let mut all = Mistakes::none();
                        all.push(m);
                        all
                    })?;
                    exec.symbol(&g.symbol, bytes, size)
                        .map_err(|e| no_room(self.workload, b, e))?
                }
                None => exec
                    .alloc(&b.name, bytes, size)
                    .map_err(|e| no_room(self.workload, b, e))?,
            });
        }
        let binding = (0..self.workload.buffers.len()).collect();
        let mut loaded = LoadedBuffers {
            ids,
            initial: contents,
            binding,
        };
        if loaded.initial.is_none() && total <= KEPT_BYTES {
            loaded.initial = Some(FirstContents::Host(self.contents()?));
        }
        self.reset(exec, &mut loaded)?;
        Ok(loaded)
    }

    /// First content of a buffer, in its own format.
    pub(crate) fn made(&self, b: &BufferSpec) -> Result<Vec<u8>, RunError> {
        let mut bytes = generate(b, self.seed, &self.workload.sizes)
            .map_err(|e| unmade(self.workload, b, &e))?;
        if let Some(p) = &self.perturb {
            p.apply(&b.name, &b.elem, &mut bytes);
        }
        self.change.apply(b, self.seed, &mut bytes);
        Ok(bytes)
    }

    /// First content of a buffer, as the device holds it.
    fn first_content(&self, buffer: usize) -> Result<Vec<u8>, RunError> {
        let bytes = self.made(&self.workload.buffers[buffer])?;
        Ok(match self.held(buffer) {
            Some(h) => h.narrow(&bytes),
            None => bytes,
        })
    }

    /// Why a buffer's first content could not be made, as a mistake at the buffer.
    pub(crate) fn unmade(&self, b: &BufferSpec, e: &GenerateError) -> Mistakes {
        unmade(self.workload, b, e)
    }

    /// A digest over the first contents of all buffers: equal inputs have equal digests.
    pub fn inputs(&self) -> Result<String, RunError> {
        self.inputs_of(None)
    }

    /// [`Session::inputs`] of contents that were made before, in their own formats.
    pub fn inputs_of(&self, originals: Option<&Contents>) -> Result<String, RunError> {
        let mut digests = Vec::new();
        for (i, b) in self.workload.buffers.iter().enumerate() {
            digests.push(match originals {
                Some(all) => digest_bytes(&all[i]),
                None => digest_bytes(&self.made(b)?),
            });
        }
        Ok(digest_inputs(&digests))
    }

    /// Whether every floating-point value of the first contents is finite: a NaN of the outputs is then the program's.
    pub fn inputs_are_finite(&self) -> Result<bool, RunError> {
        for b in &self.workload.buffers {
            if b.elem.has_float() && !all_finite(&self.made(b)?, &b.elem) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Puts the first contents back.
    pub fn reset(&self, exec: &mut dyn Executor, l: &mut LoadedBuffers) -> Result<(), RunError> {
        for (i, id) in l.ids.iter().enumerate() {
            match &l.initial {
                Some(FirstContents::Host(all)) => exec.write(*id, &all[i])?,
                Some(FirstContents::Device(all)) => {
                    exec.write_from_device(*id, all[i].address())?;
                }
                None => exec.write(*id, &self.first_content(i)?)?,
            }
            let b = &self.workload.buffers[i];
            match b.defined {
                Defined::AssumedZero if b.symbol.is_none() => exec.undefine(*id, true)?,
                Defined::Undefined => exec.undefine(*id, false)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Runs all steps once; the clock runs around the launches only. Gives seconds.
    pub fn run(&self, exec: &mut dyn Executor, l: &mut LoadedBuffers) -> Result<f64, RunError> {
        exec.start_clock()?;
        self.steps(exec, l)?;
        Ok(exec.stop_clock()?)
    }

    /// Records all steps for replays from the first contents, which buffers have to have now. False if the
    /// executor does not record.
    pub fn record(&self, exec: &mut dyn Executor, l: &mut LoadedBuffers) -> Result<bool, RunError> {
        for (id, written) in l.ids.iter().zip(self.written()?) {
            if !written {
                exec.constant(*id);
            }
        }
        if !exec.record()? {
            return Ok(false);
        }
        let done = self.steps(exec, l);
        exec.recorded()?;
        done.map(|()| true)
    }

    /// Whether a step may write a buffer, for each of them. Variables of the program are left out: kernels write them by name.
    pub fn written(&self) -> Result<Vec<bool>, RunError> {
        let buffers = self.workload.buffers.iter();
        let mut written: Vec<bool> = buffers.map(|b| b.symbol.is_some()).collect();
        for step in expand(self.workload, &self.params)? {
            let launch = match step? {
                ConcreteStep::Copy { to, .. } => {
                    written[to] = true;
                    continue;
                }
                ConcreteStep::Launch(launch) => launch,
            };
            let kernel = find(self.kernels, &launch.kernel).ok();
            let Some(through) = kernel.and_then(|k| k.written.as_ref()) else {
                return Ok(vec![true; written.len()]);
            };
            for p in through {
                if let Some(ArgValue::Buffer { index, .. }) = launch.args.get(*p) {
                    written[*index] = true;
                }
            }
        }
        Ok(written)
    }

    /// All steps, in order.
    fn steps(&self, exec: &mut dyn Executor, l: &mut LoadedBuffers) -> Result<(), RunError> {
        let mut steps = expand(self.workload, &self.params)?;
        for step in steps.by_ref() {
            match step? {
                ConcreteStep::Copy { from, to, .. } => exec.copy(l.ids[from], l.ids[to])?,
                ConcreteStep::Launch(c) => {
                    let one = |m: Mistake| {
                        let mut all = Mistakes::none();
                        all.push(m);
                        RunError::Workload(all)
                    };
                    let k = self.kernel(&c).map_err(one)?;
                    let (mut args, shared) =
                        bind(&c, k, self.declared(), &l.ids).map_err(|wrong| {
                            let mut all = Mistakes::none();
                            for m in wrong {
                                all.push(mistake(self.workload, c.line, m.what, m.expected));
                            }
                            RunError::Workload(all)
                        })?;
                    if self.declared.is_none() {
                        let wrong = |(what, how)| one(mistake(self.workload, c.line, what, how));
                        let held = (&self.storage[..], &self.workload.buffers[..]);
                        shift_offsets(&mut args, &l.ids, held).map_err(wrong)?;
                    }
                    if let Some(lambda) = self.lambda.get(&k.symbol) {
                        args.push(Arg::Bytes(lambda.to_le_bytes().to_vec()));
                    }
                    let (mut grid, mut block, mut shared) = (c.grid, c.block, shared);
                    if let Some(x) = self.reblock.get(&k.symbol) {
                        (grid, block) = reblock::launch(*x, grid, block);
                    }
                    if let Some(groups) = self.regroup.get(&k.symbol) {
                        let r =
                            index_space::launch(*groups, grid, block, shared).map_err(|why| {
                                let what = format!("{}: {why}", k.name);
                                one(mistake(self.workload, c.line, what, "such a block".into()))
                            })?;
                        (grid, block, shared) = (r.grid, r.block, r.shared);
                        args.extend(r.arguments.into_iter().map(Arg::Bytes));
                    }
                    if let Some(coarse) = self.coarsen.get(&k.symbol) {
                        block = coarse.launch(block).map_err(|why| {
                            let what = format!("{}: {why}", k.name);
                            let how = format!("a multiple of {}", coarse.factor);
                            one(mistake(self.workload, c.line, what, how))
                        })?;
                    }
                    exec.launch(&Launch {
                        symbol: &k.symbol,
                        name: &k.name,
                        grid,
                        block,
                        dynamic_shared: shared,
                        args: &args,
                    })?;
                }
            }
        }
        l.binding = steps.binding().to_vec();
        Ok(())
    }

    /// Positions of the outputs among the buffers.
    pub fn outputs(&self) -> Vec<usize> {
        (0..self.workload.buffers.len())
            .filter(|i| self.workload.buffers[*i].output)
            .collect()
    }

    /// Content of an output, in the workload's type.
    pub fn output(
        &self,
        exec: &mut dyn Executor,
        l: &LoadedBuffers,
        buffer: usize,
    ) -> Result<Vec<u8>, RunError> {
        let at = l.binding[buffer];
        let bytes = exec.read(l.ids[at])?;
        Ok(match self.held(at) {
            Some(h) => h.widen(&bytes, self.workload.buffers[at].bytes().unwrap_or(0)),
            None => bytes,
        })
    }
}
