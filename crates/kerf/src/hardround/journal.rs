//! The certificate while it is being written: a line a unit, whole or not there. A thread makes durable what was
//! written, so that nobody waits for the disk but at the end.
use super::done::Done;
use crate::fail::Failure;
use kerf_hardround::certificate::{Header, read};
use std::fs::{File, TryLockError};
use std::io::{BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often what was written is made durable.
const DURABLE_AFTER: Duration = Duration::from_millis(300);

/// An open certificate.
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Length up to the last whole line.
    whole: u64,
    durable: Option<Durable>,
}

/// The thread that makes lines durable, until its channel is closed or the disk fails.
struct Durable {
    stop: Sender<()>,
    thread: JoinHandle<std::io::Result<()>>,
}

impl Durable {
    fn new(file: File) -> Durable {
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(DURABLE_AFTER) == Err(RecvTimeoutError::Timeout) {
                file.sync_data()?;
            }
            Ok(())
        });
        Durable { stop, thread }
    }

    fn end(self) -> std::io::Result<()> {
        drop(self.stop);
        self.thread.join().unwrap_or(Ok(()))
    }
}

impl Journal {
    /// Begins one, or goes on with one; gives what is known of the units that it has.
    pub fn open(path: &Path, header: &Header, resume: bool) -> Result<(Journal, Done), Failure> {
        let fail = |e: std::io::Error| {
            Failure::new(format!("cannot write {}: {e}", path.display()))
                .help("choose another place with --certificate")
        };
        if path.exists() && !resume {
            return Err(Failure::new(format!("{} is there already", path.display()))
                .help("add --resume to go on with that search, or remove the file"));
        }
        if path.exists() && !path.is_file() {
            return Err(Failure::new(format!("{} is not a file", path.display()))
                .help("choose another place with --certificate"));
        }
        let mut done = Done::default();
        let mut whole = 0;
        let mut started = false;
        if path.exists() {
            let file = BufReader::new(File::open(path).map_err(fail)?);
            let there = read(file, |u| done.add(u)).map_err(|e| {
                Failure::new(format!("{}: {e}", path.display()))
                    .help("remove the file to begin anew")
            })?;
            // A file that was cut off within its first line has nothing to go on with.
            if let Some((of, length)) = there {
                if !of.same(header) {
                    return Err(
                        Failure::new(format!("{} is of another search", path.display())).help(
                            format!(
                                "it has {} on [{}, {}) with {} bits; choose another --certificate",
                                of.function, of.from, of.to, of.bits
                            ),
                        ),
                    );
                }
                (whole, started) = (length, true);
            }
        }
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(fail)?;
        // Until this process ends, no other adds to the file.
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(e)) => return Err(fail(e)),
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(format!(
                    "{} is being written by another search",
                    path.display()
                ))
                .help("wait for its end, or choose another place with --certificate"));
            }
        }
        file.set_len(whole).map_err(fail)?;
        file.seek(SeekFrom::Start(whole)).map_err(fail)?;
        let mut journal = Journal {
            path: path.to_owned(),
            file,
            whole,
            durable: None,
        };
        journal.durable = journal.file.try_clone().ok().map(Durable::new);
        if !started {
            journal.line(&serde_json::to_string(header).unwrap_or_default())?;
        }
        Ok((journal, done))
    }

    /// Adds a line; on failure the file ends with the line before.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        let mut write = || {
            // The disk failed meanwhile.
            if let Some(d) = self.durable.take_if(|d| d.thread.is_finished()) {
                d.end()?;
            }
            self.file.write_all(format!("{text}\n").as_bytes())
        };
        match write() {
            Ok(()) => {
                self.whole += text.len() as u64 + 1;
                Ok(())
            }
            Err(e) => {
                let e: std::io::Error = e;
                let _ = self.file.set_len(self.whole);
                let _ = self.file.seek(SeekFrom::Start(self.whole));
                Err(
                    Failure::new(format!("cannot write {}: {e}", self.path.display())).help(
                        "make room, then give the same command with --resume: nothing is lost",
                    ),
                )
            }
        }
    }

    /// Makes everything durable.
    pub fn close(&mut self) -> Result<(), Failure> {
        let background = self.durable.take().map_or(Ok(()), Durable::end);
        background.and_then(|()| self.file.sync_all()).map_err(|e| {
            Failure::new(format!("cannot write {}: {e}", self.path.display()))
                .help("make room, then give the same command with --resume")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two searches would cut off each other's lines.
    #[test]
    fn one_search_at_a_time() {
        use kerf_hardround::leaf::Query;
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a.cert");
        let query = Query {
            function: crate::hardround::find("exp").expect("known"),
            format: kerf_hardround::format::BINARY64,
            bits: 40,
            isa: None,
        };
        let header = Header::new(&query, 1.0, 1.5, 7, "cpu");
        let (mut first, _) = Journal::open(&path, &header, false).expect("new");
        let second = Journal::open(&path, &header, true).err().expect("in use");
        let text = format!("{second:?}");
        assert!(
            text.contains("another search") && text.contains("--certificate"),
            "{text}"
        );
        // Its thread has the file open too, and ends here.
        first.close().expect("written");
        drop(first);
        assert!(Journal::open(&path, &header, true).is_ok());
    }

    /// A line that cannot be written is an error that says how to go on.
    #[test]
    fn full_disk() {
        let Ok(file) = File::options().write(true).open("/dev/full") else {
            return;
        };
        let mut journal = Journal {
            path: "/dev/full".into(),
            file,
            whole: 0,
            durable: None,
        };
        let e = journal.line("{}").expect_err("no room");
        assert!(format!("{e:?}").contains("--resume"), "{e:?}");
        assert_eq!(journal.whole, 0);
    }
}
