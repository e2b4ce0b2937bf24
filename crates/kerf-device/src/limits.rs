//! Limits of a device: what the driver says, and what has to be measured.
use crate::profile::{Figure, Limits};
use kerf_exec::cuda::watch::Watch;
use kerf_exec::cuda::{Attributes, CudaExecutor};
use kerf_exec::{Arg, BufferId, ExecError, Executor, Launch};

/// Kernels for bandwidth, launches and waiting, as LLVM text. 16 bytes are moved at a time.
const KERNELS: &str = r#"
target triple = "nvptx64-nvidia-cuda"
@dynamic = external addrspace(3) global [0 x i8], align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
define internal i64 @index() alwaysinline {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %m = mul i32 %b, %n
  %i = add i32 %m, %t
  %w = zext i32 %i to i64
  ret i64 %w
}
define internal i64 @stride() alwaysinline {
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %m = mul i32 %b, %n
  %w = zext i32 %m to i64
  ret i64 %w
}
define ptx_kernel void @empty() {
  ret void
}
define ptx_kernel void @wait(i64 %cycles) {
entry:
  %a = call i64 asm sideeffect "mov.u64 $0, %clock64;", "=l"()
  br label %loop
loop:
  call void asm sideeffect "nanosleep.u32 2000;", ""()
  %b = call i64 asm sideeffect "mov.u64 $0, %clock64;", "=l"()
  %d = sub i64 %b, %a
  %more = icmp ult i64 %d, %cycles
  br i1 %more, label %loop, label %out
out:
  ret void
}
define ptx_kernel void @copy(ptr addrspace(1) noalias %from, ptr addrspace(1) noalias %to, i64 %n) {
entry:
  %i0 = call i64 @index()
  %s = call i64 @stride()
  %s2 = mul i64 %s, 2
  %s3 = mul i64 %s, 3
  %s4 = mul i64 %s, 4
  br label %loop
loop:
  %i = phi i64 [ %i0, %entry ], [ %next, %body ]
  %j = add i64 %i, %s3
  %in = icmp ult i64 %j, %n
  br i1 %in, label %body, label %out
body:
  %i1 = add i64 %i, %s
  %i2 = add i64 %i, %s2
  %p0 = getelementptr <4 x i32>, ptr addrspace(1) %from, i64 %i
  %p1 = getelementptr <4 x i32>, ptr addrspace(1) %from, i64 %i1
  %p2 = getelementptr <4 x i32>, ptr addrspace(1) %from, i64 %i2
  %p3 = getelementptr <4 x i32>, ptr addrspace(1) %from, i64 %j
  %v0 = load <4 x i32>, ptr addrspace(1) %p0, align 16
  %v1 = load <4 x i32>, ptr addrspace(1) %p1, align 16
  %v2 = load <4 x i32>, ptr addrspace(1) %p2, align 16
  %v3 = load <4 x i32>, ptr addrspace(1) %p3, align 16
  %q0 = getelementptr <4 x i32>, ptr addrspace(1) %to, i64 %i
  %q1 = getelementptr <4 x i32>, ptr addrspace(1) %to, i64 %i1
  %q2 = getelementptr <4 x i32>, ptr addrspace(1) %to, i64 %i2
  %q3 = getelementptr <4 x i32>, ptr addrspace(1) %to, i64 %j
  store <4 x i32> %v0, ptr addrspace(1) %q0, align 16
  store <4 x i32> %v1, ptr addrspace(1) %q1, align 16
  store <4 x i32> %v2, ptr addrspace(1) %q2, align 16
  store <4 x i32> %v3, ptr addrspace(1) %q3, align 16
  %next = add i64 %i, %s4
  br label %loop
out:
  ret void
}
define internal i64 @fetch(ptr addrspace(1) %from, i64 %i) alwaysinline {
  %p = getelementptr <4 x i32>, ptr addrspace(1) %from, i64 %i
  %v = call { i64, i64 } asm sideeffect "ld.global.cg.v2.u64 {$0, $1}, [$2];", "=l,=l,l"(ptr addrspace(1) %p)
  %a = extractvalue { i64, i64 } %v, 0
  %b = extractvalue { i64, i64 } %v, 1
  %x = xor i64 %a, %b
  ret i64 %x
}
define ptx_kernel void @read(ptr addrspace(1) %from, ptr addrspace(1) %to, i64 %n, i32 %times) {
entry:
  %i0 = call i64 @index()
  %s = call i64 @stride()
  %s2 = mul i64 %s, 2
  %s3 = mul i64 %s, 3
  %s4 = mul i64 %s, 4
  br label %outer
outer:
  %t = phi i32 [ 0, %entry ], [ %tn, %again ]
  %acc = phi i64 [ 0, %entry ], [ %a, %again ]
  br label %loop
loop:
  %i = phi i64 [ %i0, %outer ], [ %next, %body ]
  %a = phi i64 [ %acc, %outer ], [ %x3, %body ]
  %j = add i64 %i, %s3
  %in = icmp ult i64 %j, %n
  br i1 %in, label %body, label %again
body:
  %i1 = add i64 %i, %s
  %i2 = add i64 %i, %s2
  %v0 = call i64 @fetch(ptr addrspace(1) %from, i64 %i)
  %v1 = call i64 @fetch(ptr addrspace(1) %from, i64 %i1)
  %v2 = call i64 @fetch(ptr addrspace(1) %from, i64 %i2)
  %v3 = call i64 @fetch(ptr addrspace(1) %from, i64 %j)
  %x0 = xor i64 %a, %v0
  %x1 = xor i64 %x0, %v1
  %x2 = xor i64 %x1, %v2
  %x3 = xor i64 %x2, %v3
  %next = add i64 %i, %s4
  br label %loop
again:
  %tn = add i32 %t, 1
  %more = icmp ult i32 %tn, %times
  br i1 %more, label %outer, label %done
done:
  %hit = icmp eq i64 %a, -7046029254386353131
  br i1 %hit, label %sink, label %out
sink:
  store i64 %a, ptr addrspace(1) %to
  br label %out
out:
  ret void
}
"#;

/// The kernels of this module on a device.
pub struct LimitsBench {
    exec: CudaExecutor,
    sms: u32,
}

fn word(v: u64) -> Arg {
    Arg::Bytes(v.to_le_bytes().to_vec())
}

fn at(id: BufferId) -> Arg {
    Arg::Buffer { id, offset: 0 }
}

impl LimitsBench {
    /// Compiles and loads.
    pub fn new(arch: &str, ordinal: i32, sms: u32) -> Result<LimitsBench, ExecError> {
        let bad = |e: kerf_llvm::LlvmError| ExecError::Compile(e.0);
        let m = kerf_llvm::Module::parse(KERNELS.as_bytes(), "limits").map_err(bad)?;
        use kerf_ir::finish::{Ptx, Reflect, finish_with, ptx};
        finish_with(&m, &[], arch, Reflect::default(), Ptx::Kept).map_err(bad)?;
        let text = ptx(&m, arch).map_err(bad)?;
        let names = ["empty", "wait", "copy", "read"].map(String::from);
        let exec = CudaExecutor::new(&text, &names, ordinal)?;
        Ok(LimitsBench { exec, sms })
    }

    fn launch(
        &mut self,
        symbol: &str,
        blocks: u32,
        threads: u32,
        args: &[Arg],
    ) -> Result<(), ExecError> {
        self.exec.launch(&Launch {
            symbol,
            name: symbol,
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            dynamic_shared: 0,
            args,
        })
    }

    fn timed(
        &mut self,
        repeats: usize,
        mut work: impl FnMut(&mut LimitsBench) -> Result<(), ExecError>,
    ) -> Result<Vec<f64>, ExecError> {
        work(self)?;
        (0..repeats)
            .map(|_| {
                self.exec.start_clock()?;
                work(self)?;
                self.exec.stop_clock()
            })
            .collect()
    }

    /// Seconds from one empty launch to the next.
    pub fn launch_overhead(&mut self) -> Result<Figure, ExecError> {
        const N: usize = 1000;
        let times = self.timed(7, |b| {
            (0..N).try_for_each(|_| b.launch("empty", 1, 32, &[]))
        })?;
        Ok(crate::probe::measure::summary(
            times.into_iter().map(|t| t / N as f64).collect(),
            f64::INFINITY,
        ))
    }

    /// Bytes per second of a copy, and of reads from L2.
    pub fn bandwidths(&mut self, l2_bytes: u64) -> Result<(Figure, Figure), ExecError> {
        let bytes: u64 = 1 << 30;
        let (from, to) = (
            self.exec.alloc("from", bytes as usize, 16)?,
            self.exec.alloc("to", bytes as usize, 16)?,
        );
        // The best of a few shapes, from a few long-lived blocks to one pass of many.
        let mut copy = Figure::default();
        for (blocks, threads) in [
            (self.sms * 4, 512),
            (self.sms * 8, 256),
            (self.sms * 32, 256),
            ((bytes / 16 / 4 / 256) as u32, 256),
            ((bytes / 16 / 4 / 512) as u32, 512),
        ] {
            let times = self.timed(7, |b| {
                let args = [at(from), at(to), word(bytes / 16)];
                b.launch("copy", blocks, threads, &args)
            })?;
            let rates = times.into_iter().map(|t| 2.0 * bytes as f64 / t).collect();
            let one = crate::probe::measure::summary(rates, f64::INFINITY);
            if one.value > copy.value {
                copy = one.with_note(format!("{blocks} blocks of {threads} threads"));
            }
        }
        let blocks = self.sms * 8;
        // A quarter of L2: half of it may be far from a multiprocessor and kept twice.
        let small = (l2_bytes / 4).clamp(1 << 20, bytes) / (1 << 20) * (1 << 20);
        const TIMES: u32 = 50;
        let reads = self.timed(9, |b| {
            let times = Arg::Bytes(TIMES.to_le_bytes().to_vec());
            b.launch(
                "read",
                blocks,
                256,
                &[at(from), at(to), word(small / 16), times],
            )
        })?;
        let l2 = crate::probe::measure::summary(
            reads
                .into_iter()
                .map(|t| small as f64 * f64::from(TIMES) / t)
                .collect(),
            f64::INFINITY,
        );
        self.exec.clear();
        Ok((copy, l2))
    }

    /// Keeps every multiprocessor occupied by sleeping warps for about `cycles`.
    pub fn wait(&mut self, warps: u32, cycles: u64) -> Result<(), ExecError> {
        self.launch("wait", self.sms, 32 * warps, &[word(cycles)])
    }

    /// The executor, to wait for the work.
    pub fn executor(&mut self) -> &mut CudaExecutor {
        &mut self.exec
    }

    /// Unit in which shared memory is given out, from where the driver's own answer changes.
    pub fn shared_unit(&self, a: &Attributes) -> Result<Option<u32>, ExecError> {
        let fits = |bytes: u32| self.exec.blocks_per_sm("empty", 32, bytes);
        let mut unit = 0;
        for blocks in 2..=16 {
            // Largest request at which that many blocks still fit.
            let (mut low, mut high) = (0, a.shared_per_sm / blocks);
            if fits(low)? < blocks {
                continue;
            }
            while low < high {
                let middle = (low + high).div_ceil(2);
                if fits(middle)? >= blocks {
                    low = middle;
                } else {
                    high = middle - 1;
                }
            }
            unit = gcd(unit, low + a.shared_reserved);
        }
        Ok((unit > 0).then_some(unit))
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What the driver and NVML say without measuring.
pub fn stated(a: &Attributes, watch: Option<&Watch>) -> Limits {
    let m = |v: u32| Figure::measured(f64::from(v)).with_note("the driver's answer");
    Limits {
        sms: m(a.sms),
        warps_per_sm: m(a.threads_per_sm / 32),
        blocks_per_sm: m(a.blocks_per_sm),
        threads_per_block: m(a.threads_per_block),
        registers_per_sm: m(a.registers_per_sm),
        shared_per_sm: m(a.shared_per_sm),
        shared_per_block: m(a.shared_per_block),
        shared_reserved: m(a.shared_reserved),
        l2_bytes: m(a.l2_bytes),
        memory_bytes: Figure::measured(a.memory_bytes as f64).with_note("the driver's answer"),
        power_limit: watch
            .and_then(|w| w.power_limit())
            .map_or_else(Figure::default, |w| {
                Figure::measured(w).with_note("NVML's answer")
            }),
        ..Limits::default()
    }
}
