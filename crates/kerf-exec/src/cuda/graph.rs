//! Launches recorded once and replayed by the driver, so that the host is not part of what is timed.
use super::clear::Clear;
use super::driver::{Event, check, on_device};
use crate::ExecError;
use cudarc::driver::sys;

/// A stream of its own, beside the default one.
pub struct Stream(sys::CUstream);

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: created in `new`.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.0) };
    }
}

impl Stream {
    /// A new stream, which does not wait for the default one.
    pub fn new() -> Result<Stream, ExecError> {
        let mut s = std::ptr::null_mut();
        let flags = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the out pointer is valid.
        check("making a stream", unsafe {
            sys::cuStreamCreate(&mut s, flags)
        })?;
        Ok(Stream(s))
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
    pub fn end(&self) -> Result<Graph, ExecError> {
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
        Ok(Graph(ready))
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
    pub fn mark(&self, e: &Event) -> Result<(), ExecError> {
        // SAFETY: a live event and a live stream.
        check("recording an event", unsafe {
            sys::cuEventRecord(e.raw(), self.0)
        })
    }
}

/// What was recorded.
pub struct Graph(sys::CUgraphExec);

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: made in `Stream::end`.
        let _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

impl Graph {
    /// Does it.
    pub fn launch(&self, s: &Stream) -> Result<(), ExecError> {
        // SAFETY: a live graph and a live stream.
        check("replaying launches", unsafe {
            sys::cuGraphLaunch(self.0, s.0)
        })
    }
}

/// First contents of a buffer, beside it on the device.
pub struct Kept {
    /// The buffer.
    pub buffer: u64,
    /// Its first contents.
    pub copy: u64,
    /// Bytes.
    pub bytes: usize,
}

impl Kept {
    /// Keeps what is in a buffer now.
    pub fn new(buffer: u64, bytes: usize, name: &str) -> Result<Kept, ExecError> {
        let copy = super::driver::alloc(bytes.max(1), name)?;
        let k = Kept {
            buffer,
            copy,
            bytes,
        };
        on_device(copy, buffer, bytes)?;
        Ok(k)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        super::driver::free(self.copy);
    }
}

/// A recorded sequence of launches with the contents that it starts from.
pub struct Recording {
    /// Stream that it runs on.
    pub stream: Stream,
    /// First contents.
    pub kept: Vec<Kept>,
    /// What was recorded; none while recording.
    pub graph: Option<Graph>,
    /// Pairs of events around runs.
    pub events: Vec<(Event, Event)>,
}

impl Recording {
    /// Puts first contents back, and waits until they are.
    pub fn restore(&mut self) -> Result<(), ExecError> {
        for k in &self.kept {
            self.stream.copy(k.buffer, k.copy, k.bytes)?;
        }
        let done = Event::new()?;
        self.stream.mark(&done)?;
        done.wait()
    }

    /// Seconds of a run on average, first contents put back, and the cache cleared where that is asked for, before each
    /// of them outside of the time.
    pub fn replay(&mut self, runs: u32, clear: Option<&Clear>) -> Result<f64, ExecError> {
        let Some(graph) = &self.graph else {
            return Err(ExecError::Device {
                what: "replaying launches".into(),
                why: "nothing was recorded".into(),
            });
        };
        let runs = runs.max(1) as usize;
        while self.events.len() < runs {
            self.events.push((Event::new()?, Event::new()?));
        }
        for (start, stop) in &self.events[..runs] {
            for k in &self.kept {
                self.stream.copy(k.buffer, k.copy, k.bytes)?;
            }
            if let Some(c) = clear {
                c.run(&self.stream)?;
            }
            self.stream.mark(start)?;
            graph.launch(&self.stream)?;
            self.stream.mark(stop)?;
        }
        self.events[runs - 1].1.wait()?;
        let mut total = 0.0;
        for (start, stop) in &self.events[..runs] {
            total += stop.since(start)?;
        }
        Ok(total / runs as f64)
    }
}
