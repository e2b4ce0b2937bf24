//! Launches recorded once and replayed by the driver, so that the host is not part of what is timed.
use super::clear::Clear;
use super::driver::{DriverEvent, on_device};
use super::stream::{OwnStream, RecordedGraph};
use crate::ExecError;

/// First contents of a buffer, beside it on the device.
pub struct KeptContents {
    /// The buffer.
    pub buffer: u64,
    /// Its first contents.
    pub copy: u64,
    /// Bytes.
    pub bytes: usize,
    /// The copy is this one's own.
    pub owned: bool,
}

impl KeptContents {
    /// Keeps what is in a buffer now.
    pub fn new(buffer: u64, bytes: usize, name: &str) -> Result<KeptContents, ExecError> {
        let copy = super::driver::alloc(bytes.max(1), name)?;
        let k = KeptContents {
            buffer,
            copy,
            bytes,
            owned: true,
        };
        on_device(copy, buffer, bytes)?;
        Ok(k)
    }

    /// What is in a buffer now, where it also is.
    pub fn elsewhere(buffer: u64, copy: u64, bytes: usize) -> KeptContents {
        KeptContents {
            buffer,
            copy,
            bytes,
            owned: false,
        }
    }
}

impl Drop for KeptContents {
    fn drop(&mut self) {
        if self.owned {
            super::driver::free(self.copy);
        }
    }
}

/// A recorded sequence of launches with the contents that it starts from.
pub struct Recording {
    /// Stream that it runs on.
    pub stream: OwnStream,
    /// First contents.
    pub kept: Vec<KeptContents>,
    /// What was recorded; none while recording.
    pub graph: Option<RecordedGraph>,
    /// Pairs of events around runs.
    pub events: Vec<(DriverEvent, DriverEvent)>,
}

impl Recording {
    /// Puts first contents back, and waits until they are.
    pub fn restore(&mut self) -> Result<(), ExecError> {
        for k in &self.kept {
            self.stream.copy(k.buffer, k.copy, k.bytes)?;
        }
        let done = DriverEvent::new()?;
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
            self.events.push((DriverEvent::new()?, DriverEvent::new()?));
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
