//! The L2 cache before a launch that is timed: full of other memory, a part of it not yet written back.
//!
//! A line that comes into the cache pushes one out, and one that was written goes to memory then. A launch that is
//! long enough pushes out lines of its own; a sample of it pushes out what was there before, so that has to have been
//! written to the same part. Copies would leave about half of it written, whatever the launch does.
use super::code::LoadedCode;
use super::driver::{self, DriverContext};
use super::stream::OwnStream;
use crate::{ExecError, LaunchConfiguration};

/// Twice what the largest caches hold.
const BYTES: usize = 128 << 20;

/// Threads of a block; each has 16 bytes.
const THREADS: u32 = 256;

/// Parts that [`Clear::run`] tells apart.
const STEPS: f64 = 256.0;

/// Each line of 128 bytes is written or read, as its hash says. What is read is stored again if it is a value that is
/// never written, or the read would go.
const PTX: &str = "
.version 6.0
.target sm_50
.address_size 64
.visible .entry kerf_clear(.param .u64 memory, .param .u32 written)
{
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %d<4>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  ld.param.u64 %d1, [memory];
  cvta.to.global.u64 %d1, %d1;
  mul.wide.u32 %d2, %r4, 16;
  add.s64 %d3, %d1, %d2;
  shr.u32 %r5, %r4, 3;
  mul.lo.u32 %r5, %r5, 0x9E3779B1;
  shr.u32 %r5, %r5, 24;
  ld.param.u32 %r6, [written];
  setp.lt.u32 %p1, %r5, %r6;
  @%p1 st.global.v4.u32 [%d3], {%r4, %r5, %r4, %r5};
  @%p1 ret;
  ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%d3];
  and.b32 %r7, %r7, %r8;
  and.b32 %r7, %r7, %r9;
  and.b32 %r7, %r7, %r10;
  setp.eq.u32 %p2, %r7, 0xFFFFFFFF;
  @%p2 st.global.u32 [%d3], 0;
  ret;
}
";

/// Memory that the cache is filled with.
pub struct Clear {
    loaded: LoadedCode,
    memory: u64,
    /// Of [`STEPS`].
    written: u32,
}

impl Drop for Clear {
    fn drop(&mut self) {
        driver::free(self.memory);
    }
}

impl Clear {
    /// Memory and the kernel that touches it.
    pub fn new(context: &DriverContext) -> Result<Clear, ExecError> {
        Ok(Clear {
            loaded: context.load(PTX, 4)?,
            memory: driver::alloc(BYTES, "memory that clears the cache")?,
            written: 0,
        })
    }

    /// The part of the lines that are left to be written back, from now on.
    pub fn leave(&mut self, written: f64) {
        self.written = (written.clamp(0.0, 1.0) * STEPS).round() as u32;
    }

    /// Fills the cache, in order with the stream.
    pub fn run(&self, s: &OwnStream) -> Result<(), ExecError> {
        let (mut memory, mut written) = (self.memory, self.written);
        let mut params = [
            std::ptr::from_mut(&mut memory).cast(),
            std::ptr::from_mut(&mut written).cast(),
        ];
        let blocks = (BYTES / 16) as u32 / THREADS;
        let launch = LaunchConfiguration {
            symbol: "kerf_clear",
            name: "what clears the cache",
            grid: [blocks, 1, 1],
            block: [THREADS, 1, 1],
            dynamic_shared: 0,
        };
        self.loaded.launch(launch, &mut params, s.raw())
    }
}
