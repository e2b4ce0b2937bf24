//! What many warps do to each other's cache lines: P and lambda_0 of Dao, "Performance Modeling, Performance
//! Tuning and Quantization for GPU Programs" (2021), sections 3.4.2, 3.4.3 and 3.5.3.
//!
//! Each thread reads 32 neighbours, one after the other, of lines that it finds in cache again if no other warp
//! took their place. A warp holds 1 to 128 lines, by the distance between threads and by how many rows they read.
//! Dao raises the occupancy by the block; here as many warps as wanted are launched and share the work, so
//! that no shared memory takes room from L1.
use crate::profile::Figure;
use kerf_exec::cuda::CudaExecutor;
use kerf_exec::{Arg, BufferId, ExecError, Executor, Launch};

/// `lines`: `stride` is elements between threads, `rows` buffers' worth of rows `row` elements apart. `chase`:
/// each address depends on the value before, which is 0.
const KERNELS: &str = r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
define ptx_kernel void @lines(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %stride, i32 %rows, i64 %row, i32 %items, i32 %chase) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %g = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %bn = mul i32 %b, %n
  %first = add i32 %bn, %t
  %step = mul i32 %g, %n
  br label %item
item:
  %i = phi i32 [ %first, %entry ], [ %inext, %idone ]
  %acc = phi i32 [ 0, %entry ], [ %accout, %idone ]
  %iw = zext i32 %i to i64
  %sw = zext i32 %stride to i64
  %base = mul i64 %iw, %sw
  br label %turn
turn:
  %k = phi i32 [ 0, %item ], [ %knext, %tdone ]
  %acc1 = phi i32 [ %acc, %item ], [ %acc2, %tdone ]
  %kw = zext i32 %k to i64
  %at = add i64 %base, %kw
  br label %onerow
onerow:
  %r = phi i32 [ 0, %turn ], [ %rnext, %onerow ]
  %acc3 = phi i32 [ %acc1, %turn ], [ %acc2, %onerow ]
  %rw = zext i32 %r to i64
  %ro = mul i64 %rw, %row
  %a0 = add i64 %at, %ro
  %dep = and i32 %acc3, %chase
  %dw = zext i32 %dep to i64
  %a1 = add i64 %a0, %dw
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %a1
  %v = load i32, ptr addrspace(1) %p, align 4
  %acc2 = add i32 %acc3, %v
  %rnext = add i32 %r, 1
  %rmore = icmp ult i32 %rnext, %rows
  br i1 %rmore, label %onerow, label %tdone
tdone:
  %knext = add i32 %k, 1
  %kmore = icmp ult i32 %knext, 32
  br i1 %kmore, label %turn, label %idone
idone:
  %accout = phi i32 [ %acc2, %tdone ]
  %inext = add i32 %i, %step
  %imore = icmp ult i32 %inext, %items
  br i1 %imore, label %item, label %done
done:
  %hit = icmp eq i32 %accout, -559038737
  br i1 %hit, label %sink, label %end
sink:
  store i32 %accout, ptr addrspace(1) %out
  br label %end
end:
  ret void
}
"#;

/// Lines of 128 bytes that a warp holds at a time, as (elements between threads, rows): Dao's strides, and more
/// rows for caches that are larger than his.
const LINES: [(u32, u32); 8] = [
    (1, 1),
    (2, 1),
    (4, 1),
    (8, 1),
    (16, 1),
    (32, 1),
    (32, 2),
    (32, 4),
];

/// Threads' worth of work, for each warp that a multiprocessor holds.
const ITEMS: u32 = 32 * 4;

/// How the remark with all timings begins.
pub const REMARK: &str = "contention, lines a warp/warps and microseconds:";

/// A loss of this part at more warps counts, as with Dao.
const LOSS: f64 = 1.10;

/// One timing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContentionTiming {
    /// Lines that a warp holds.
    pub lines: u32,
    /// Warps of a multiprocessor.
    pub warps: u32,
    /// Seconds.
    pub seconds: f64,
    /// Memory transactions of all warps.
    pub transactions: f64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct ContentionFigures {
    /// P: transactions that a multiprocessor has under way.
    pub overlap: Figure,
    /// lambda_0.
    pub lambda: Figure,
    /// All timings, for people.
    pub remark: String,
}

/// The kernel on a device.
pub struct ContentionBench {
    exec: CudaExecutor,
    sms: u32,
}

/// The first place where more warps are slower, with memory's part of the time there. `rate`: transactions a second
/// when memory can take no more.
pub fn first_loss(all: &[ContentionTiming], rate: f64) -> Option<(ContentionTiming, f64)> {
    let mut lines: Vec<u32> = all.iter().map(|t| t.lines).collect();
    lines.sort_unstable();
    lines.dedup();
    for l in lines {
        let mut mine: Vec<&ContentionTiming> = all.iter().filter(|t| t.lines == l).collect();
        mine.sort_by_key(|t| t.warps);
        let mut best = f64::INFINITY;
        for t in mine {
            if t.seconds > LOSS * best {
                let lambda = (t.transactions / rate / t.seconds).min(1.0);
                return Some((*t, lambda));
            }
            best = best.min(t.seconds);
        }
    }
    None
}

impl ContentionBench {
    /// Compiles and loads.
    pub fn new(arch: &str, ordinal: i32, sms: u32) -> Result<ContentionBench, ExecError> {
        let bad = |e: kerf_llvm::LlvmError| ExecError::Compile(e.0);
        let m = kerf_llvm::Module::parse(KERNELS.as_bytes(), "contention").map_err(bad)?;
        use kerf_ir::finish::{Ptx, Reflect, finish_with, ptx};
        finish_with(&m, &[], arch, Reflect::default(), Ptx::Kept).map_err(bad)?;
        let text = ptx(&m, arch).map_err(bad)?;
        let exec = CudaExecutor::new(&text, &["lines".to_owned()], ordinal)?;
        Ok(ContentionBench { exec, sms })
    }

    fn time(
        &mut self,
        (from, to): (BufferId, BufferId),
        (stride, rows): (u32, u32),
        warps: u32,
        items: u32,
        chase: bool,
    ) -> Result<f64, ExecError> {
        let row = u64::from(stride) * u64::from(items) + 64;
        let word = |v: u32| Arg::Bytes(v.to_le_bytes().to_vec());
        let at = |id| Arg::Buffer { id, offset: 0 };
        let args = [
            at(from),
            at(to),
            word(stride),
            word(rows),
            Arg::Bytes(row.to_le_bytes().to_vec()),
            word(items),
            // Values are 0, which the compiler does not know.
            word(if chase { u32::MAX } else { 0 }),
        ];
        // Up to 8 warps a block, so that any number of warps can be had.
        let per = (1..=8)
            .rev()
            .find(|p| warps.is_multiple_of(*p))
            .unwrap_or(1);
        let mut times = Vec::new();
        for n in 0..6 {
            self.exec.start_clock()?;
            self.exec.launch(&Launch {
                symbol: "lines",
                name: "lines",
                grid: [self.sms * warps / per, 1, 1],
                block: [32 * per, 1, 1],
                dynamic_shared: 0,
                args: &args,
            })?;
            let t = self.exec.stop_clock()?;
            if n > 0 {
                times.push(t);
            }
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }

    /// Times of all numbers of lines at some numbers of warps.
    pub fn table(&mut self, most: u32) -> Result<(Vec<ContentionTiming>, f64), ExecError> {
        let items = self.sms * most * ITEMS;
        let elements = |(stride, rows): (u32, u32)| {
            (u64::from(stride) * u64::from(items) + 64) * u64::from(rows)
        };
        let bytes = LINES.map(elements).into_iter().max().unwrap_or(0) * 4 + 256;
        let from = self.exec.alloc("lines", bytes as usize, 16)?;
        let to = self.exec.alloc("sum", 16, 16)?;
        let both = (from, to);
        let mut warps: Vec<u32> = [most / 8, most / 4, most / 2, most * 3 / 4, most].to_vec();
        warps.retain(|w| *w > 0);
        warps.dedup();
        let mut all = Vec::new();
        for lines in LINES {
            for w in &warps {
                let seconds = self.time(both, lines, *w, items, false)?;
                all.push(ContentionTiming {
                    lines: lines.0 * lines.1,
                    warps: *w,
                    seconds,
                    transactions: f64::from(items) / 32.0 * 32.0 * f64::from(lines.0 * lines.1),
                });
            }
        }
        // One warp alone, each load after the one before: the time of a transaction, hits and misses as
        // with many warps.
        let few = self.sms * 32 * 4;
        let alone = self.time(both, (1, 1), 1, few, true)?;
        let latency = alone / (f64::from(few) / f64::from(self.sms * 32) * 32.0);
        self.exec.clear();
        Ok((all, latency))
    }

    /// P and lambda_0.
    pub fn measure(&mut self, most: u32) -> Result<ContentionFigures, ExecError> {
        let (all, latency) = self.table(most)?;
        // Dao takes the rate of coalesced accesses; a GPU whose instructions keep up with them no more is
        // saturated by scattered ones.
        let rates = all.iter().map(|t| t.transactions / t.seconds);
        let rate = rates.fold(0.0, f64::max);
        let overlap = rate * latency / f64::from(self.sms);
        let lambda = match first_loss(&all, rate) {
            Some((t, lambda)) => Figure::measured(lambda).with_note(format!(
                "first with {} lines a warp at {} warps",
                t.lines, t.warps
            )),
            None => Figure::measured(1.0).with_note(format!(
                "more warps never took {:.0} % longer, with up to {} lines a warp",
                100.0 * (LOSS - 1.0),
                LINES.iter().map(|l| l.0 * l.1).max().unwrap_or(0)
            )),
        };
        let each = all.iter().map(|t| {
            let us = 1e6 * t.seconds;
            format!("{}/{} {us:.0}", t.lines, t.warps)
        });
        let each: Vec<String> = each.collect();
        Ok(ContentionFigures {
            remark: format!("{REMARK} {}", each.join(", ")),
            overlap: Figure::measured(overlap).with_note(format!(
                "{:.3e} transactions a second, {:.0} ns each",
                rate,
                1e9 * latency
            )),
            lambda,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(lines: u32, warps: u32, seconds: f64) -> ContentionTiming {
        ContentionTiming {
            lines,
            warps,
            seconds,
            transactions: f64::from(lines) * 100.0,
        }
    }

    #[test]
    fn the_first_loss_is_found() {
        let all = [
            timed(1, 16, 2.0),
            timed(1, 64, 1.0),
            timed(8, 16, 8.0),
            timed(8, 32, 8.5),
            timed(8, 64, 10.0),
            timed(32, 16, 10.0),
            timed(32, 64, 90.0),
        ];
        let (at, lambda) = first_loss(&all, 100.0).expect("a loss");
        assert_eq!((at.lines, at.warps), (8, 64));
        assert!((lambda - 0.8).abs() < 1e-12);
        assert!(first_loss(&all[..2], 100.0).is_none());
    }

    #[test]
    fn the_kernel_compiles() {
        use kerf_ir::finish::{Ptx, Reflect, finish_with, ptx};
        let m = kerf_llvm::Module::parse(KERNELS.as_bytes(), "contention").expect("IR");
        finish_with(&m, &[], "sm_90", Reflect::default(), Ptx::Kept).expect("finished");
        let text = ptx(&m, "sm_90").expect("PTX");
        assert!(text.contains(".entry lines"));
    }
}
