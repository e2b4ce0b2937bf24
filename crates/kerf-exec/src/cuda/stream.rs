//! Streams, and what is recorded on them.
use super::driver::{DriverEvent, check};
use crate::ExecError;
use cudarc::driver::sys;

/// A stream of its own, beside the default one.
pub struct OwnStream(sys::CUstream);

impl Drop for OwnStream {
    fn drop(&mut self) {
        // SAFETY: created in `new`.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.0) };
    }
}

impl OwnStream {
    /// A new stream, which does not wait for the default one.
    pub fn new() -> Result<OwnStream, ExecError> {
        let mut s = std::ptr::null_mut();
        let flags = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the out pointer is valid.
        check("making a stream", unsafe {
            sys::cuStreamCreate(&mut s, flags)
        })?;
        Ok(OwnStream(s))
    }
    /// For launches.
    pub fn raw(&self) -> sys::CUstream {
        self.0
    }
    /// What is put on the stream from now on is recorded, not done.
    pub fn begin(&self) -> Result<(), ExecError> {
        let mode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: a live stream that records nothing else.
        check("beginning to record", unsafe {
            sys::cuStreamBeginCapture_v2(self.0, mode)
        })
    }
    /// What was recorded.
    pub fn end(&self) -> Result<RecordedGraph, ExecError> {
        let (mut graph, mut ready) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the stream records, the out pointers are valid, and the graph is destroyed once.
        unsafe {
            check(
                "ending to record",
                sys::cuStreamEndCapture(self.0, &mut graph),
            )?;
            let made = sys::cuGraphInstantiateWithFlags(&mut ready, graph, 0);
            let _ = sys::cuGraphDestroy(graph);
            check("preparing what was recorded", made)?;
        }
        Ok(RecordedGraph(ready))
    }
    /// Copies on the device, in order with the stream.
    pub fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), ExecError> {
        // SAFETY: the caller checked both lengths.
        check("copying on the device", unsafe {
            sys::cuMemcpyDtoDAsync_v2(to, from, bytes, self.0)
        })
    }
    /// Copies to the device and waits for it, whatever runs on other streams.
    pub fn to_device(&self, to: u64, data: &[u8]) -> Result<(), ExecError> {
        // SAFETY: the caller checked the length; the data outlives the copy, which is waited for.
        unsafe {
            let copied = sys::cuMemcpyHtoDAsync_v2(to, data.as_ptr().cast(), data.len(), self.0);
            check("copying to the device", copied)?;
            check("copying to the device", sys::cuStreamSynchronize(self.0))
        }
    }
    /// Copies from the device and waits for it, whatever runs on other streams.
    pub fn to_host(&self, from: u64, bytes: usize) -> Result<Vec<u8>, ExecError> {
        let mut v = vec![0u8; bytes];
        // SAFETY: the vector has that many bytes, and outlives the copy, which is waited for.
        unsafe {
            let copied = sys::cuMemcpyDtoHAsync_v2(v.as_mut_ptr().cast(), from, bytes, self.0);
            check("copying from the device", copied)?;
            check("copying from the device", sys::cuStreamSynchronize(self.0))?;
        }
        Ok(v)
    }
    /// Puts an event on the stream.
    pub fn mark(&self, e: &DriverEvent) -> Result<(), ExecError> {
        // SAFETY: a live event and a live stream.
        check("recording an event", unsafe {
            sys::cuEventRecord(e.raw(), self.0)
        })
    }
}

/// What was recorded.
pub struct RecordedGraph(sys::CUgraphExec);

impl Drop for RecordedGraph {
    fn drop(&mut self) {
        // SAFETY: made in `Stream::end`.
        let _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

impl RecordedGraph {
    /// Does it.
    pub fn launch(&self, s: &OwnStream) -> Result<(), ExecError> {
        // SAFETY: a live graph and a live stream.
        check("replaying launches", unsafe {
            sys::cuGraphLaunch(self.0, s.0)
        })
    }
}
