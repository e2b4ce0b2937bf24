//! Writing the record of a run.
use super::format::{CALLS, DATA, DataPiece, INDEX, RecordIndex, RecordedCall};
use crate::error::{CallFailure, code};
use crate::process::{say, var};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Bytes of copies that are kept where `KERF_REPLAY_LIMIT` does not say.
const LIMIT: u64 = 16 << 30;

/// A mark: more than one process has begun a record in the folder.
const SEVERAL: &str = "several";

/// A record that is written.
pub struct Recorder {
    folder: PathBuf,
    data: BufWriter<File>,
    calls: BufWriter<File>,
    written: u64,
    limit: u64,
    count: u64,
    refused: Vec<String>,
}

fn failure(path: &std::path::Path) -> impl Fn(std::io::Error) -> CallFailure {
    let path = path.display().to_string();
    move |e| CallFailure::new(code::UNKNOWN, format!("KERF_REPLAY_RECORD: {path}: {e}"))
}

impl Recorder {
    /// As the environment says; none without it.
    pub fn from_environment() -> Result<Option<Recorder>, CallFailure> {
        let Some(folder) = var("KERF_REPLAY_RECORD").map(PathBuf::from) else {
            return Ok(None);
        };
        let limit = var("KERF_REPLAY_LIMIT").and_then(|v| v.parse().ok());
        Recorder::start(folder, limit.unwrap_or(LIMIT)).map(Some)
    }

    /// Begins, in a folder that is made if it is not there.
    fn start(folder: PathBuf, limit: u64) -> Result<Recorder, CallFailure> {
        std::fs::create_dir_all(&folder).map_err(failure(&folder))?;
        // Which of several processes is the program is not known. The first may still write its files: the others write
        // none, and leave a mark that it finds at its end.
        let calls = folder.join(CALLS);
        let (calls, data) = match File::create_new(&calls) {
            Ok(file) => (file, folder.join(DATA)),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                let mark = folder.join(SEVERAL);
                File::create(&mark).map_err(failure(&mark))?;
                let nowhere = PathBuf::from("/dev/null");
                let file = File::create(&nowhere).map_err(failure(&nowhere))?;
                (file, nowhere)
            }
            Err(e) => return Err(failure(&calls)(e)),
        };
        let data = File::create(&data).map_err(failure(&data))?;
        let mut recorder = Recorder {
            data: BufWriter::new(data),
            calls: BufWriter::new(calls),
            folder,
            written: 0,
            limit,
            count: 0,
            refused: Vec::new(),
        };
        recorder.refuse_several();
        Ok(recorder)
    }

    /// Refuses a record of which other processes were to write one too.
    fn refuse_several(&mut self) {
        if self.folder.join(SEVERAL).exists() {
            self.refuse("the command starts more than one program that uses the device");
        }
    }

    /// The run cannot be replayed, for this reason.
    pub fn refuse(&mut self, why: &str) {
        if !self.refused.iter().any(|r| r == why) {
            self.refused.push(why.to_owned());
        }
    }

    /// Is everything kept so far?
    pub fn is_complete(&self) -> bool {
        self.refused.is_empty()
    }

    /// Keeps bytes; none where the record is of no use any more.
    pub fn piece(&mut self, bytes: &[u8]) -> Option<DataPiece> {
        if !self.is_complete() {
            return None;
        }
        if self.written + bytes.len() as u64 > self.limit {
            let gib = self.limit as f64 / (1u64 << 30) as f64;
            self.refuse(&format!(
                "the copies of the run have more than {gib:.3} GiB (--record-limit allows more)"
            ));
            return None;
        }
        self.append(bytes)
    }

    /// Writes bytes, whatever the limit.
    fn append(&mut self, bytes: &[u8]) -> Option<DataPiece> {
        let piece = DataPiece {
            offset: self.written,
            bytes: bytes.len() as u64,
        };
        if let Err(e) = self.data.write_all(bytes) {
            self.refuse(&format!("{}: {e}", self.folder.join(DATA).display()));
            return None;
        }
        self.written += piece.bytes;
        Some(piece)
    }

    /// Keeps a call.
    pub fn call(&mut self, call: &RecordedCall) {
        if !self.is_complete() {
            return;
        }
        let line = serde_json::to_string(call).map_err(std::io::Error::from);
        let line = line.and_then(|l| writeln!(self.calls, "{l}"));
        match line {
            Ok(()) => self.count += 1,
            Err(e) => self.refuse(&format!("{}: {e}", self.folder.join(CALLS).display())),
        }
    }

    /// Keeps device code, whatever the limit.
    pub fn code(&mut self, bytes: &[u8]) -> Option<DataPiece> {
        self.append(bytes)
    }

    /// Writes the index, which is given what the record has: why it is refused, its calls, its bytes.
    pub fn finish(mut self, index: impl FnOnce(Vec<String>, u64, u64) -> RecordIndex) {
        self.refuse_several();
        if let Err(e) = self.data.flush().and_then(|()| self.calls.flush()) {
            self.refuse(&format!("{}: {e}", self.folder.display()));
        }
        let index = index(self.refused, self.count, self.written);
        if !index.refused.is_empty() {
            let _ = std::fs::remove_file(self.folder.join(DATA));
        }
        let path = self.folder.join(INDEX);
        let text = serde_json::to_string_pretty(&index).map_err(std::io::Error::from);
        if let Err(e) = text.and_then(|t| std::fs::write(&path, t)) {
            say(&format!("KERF_REPLAY_RECORD: {}: {e}", path.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_ends_at_its_limit_and_says_so() {
        let folder = std::env::temp_dir().join(format!("kerf-recorder-{}", std::process::id()));
        let mut r = Recorder::start(folder.clone(), 1 << 20).expect("a folder");
        let half = vec![1u8; 1 << 19];
        let first = r.piece(&half).expect("fits");
        assert_eq!((first.offset, first.bytes), (0, 1 << 19));
        assert_eq!(r.piece(&half).map(|p| p.offset), Some(1 << 19));
        assert_eq!(r.piece(&[0]), None);
        assert_eq!(
            r.refused,
            ["the copies of the run have more than 0.001 GiB (--record-limit allows more)"]
        );
        // A second process of the same command.
        let second = Recorder::start(folder.clone(), 1).expect("a folder");
        assert!(!second.is_complete());
        // The first, which has not ended, finds the mark and has its files.
        r.refused.clear();
        r.refuse_several();
        assert!(!r.is_complete());
        r.data.flush().expect("written");
        let bytes = std::fs::metadata(folder.join(DATA)).expect("a file").len();
        assert_eq!(bytes, 1 << 20);
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
