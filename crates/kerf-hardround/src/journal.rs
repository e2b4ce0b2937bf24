//! The certificate while it is being written: a line a unit, whole or not there. A thread makes durable what was
//! written, so that nobody waits for the disk but at the end.
use crate::certificate::{CertificateError, Header, read};
use crate::finished::FinishedUnits;
use std::fs::{File, TryLockError};
use std::io::{BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often what was written is made durable.
const DURABLE_AFTER: Duration = Duration::from_millis(300);

/// Why a certificate cannot be begun, continued or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be opened.
    #[error("cannot write {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line cannot be added; the file ends with the line before.
    #[error("cannot write {}: {source}", path.display())]
    Append {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What was written cannot be made durable.
    #[error("cannot write {}: {source}", path.display())]
    Close {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A search has begun it already.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// A folder or device has its name.
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        source: CertificateError,
    },
    /// It has results of something else.
    #[error("{} is of another search", path.display())]
    OtherSearch {
        /// The file.
        path: PathBuf,
        /// Of what.
        header: Box<Header>,
    },
    /// Another process writes it.
    #[error("{} is being written by another search", .0.display())]
    InUse(PathBuf),
}

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

/// What a certificate has: the finished units and the length up to its last whole line, 0 where not even its first line is
/// whole.
fn read_finished(path: &Path, header: &Header) -> Result<(FinishedUnits, u64), JournalError> {
    let mut finished = FinishedUnits::default();
    let file = File::open(path).map_err(|source| JournalError::Open {
        path: path.to_owned(),
        source,
    })?;
    let there = read(BufReader::new(file), |u| finished.add(u));
    let there = there.map_err(|source| JournalError::Damaged {
        path: path.to_owned(),
        source,
    })?;
    match there {
        Some((of, _)) if !of.same(header) => Err(JournalError::OtherSearch {
            path: path.to_owned(),
            header: Box::new(of),
        }),
        Some((_, length)) => Ok((finished, length)),
        None => Ok((finished, 0)),
    }
}

impl Journal {
    /// Begins one, or goes on with one; gives what is known of the units that it has.
    pub fn open(
        path: &Path,
        header: &Header,
        resume: bool,
    ) -> Result<(Journal, FinishedUnits), JournalError> {
        let fail = |source: std::io::Error| JournalError::Open {
            path: path.to_owned(),
            source,
        };
        if path.exists() && !resume {
            return Err(JournalError::Exists(path.to_owned()));
        }
        if path.exists() && !path.is_file() {
            return Err(JournalError::NotAFile(path.to_owned()));
        }
        let (finished, whole) = match path.exists() {
            true => read_finished(path, header)?,
            false => (FinishedUnits::default(), 0),
        };
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
            Err(TryLockError::WouldBlock) => return Err(JournalError::InUse(path.to_owned())),
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
        if whole == 0 {
            journal.line(&serde_json::to_string(header).unwrap_or_default())?;
        }
        Ok((journal, finished))
    }

    /// Adds a line; on failure the file ends with the line before.
    pub fn line(&mut self, text: &str) -> Result<(), JournalError> {
        let mut write = || -> std::io::Result<()> {
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
            Err(source) => {
                let _ = self.file.set_len(self.whole);
                let _ = self.file.seek(SeekFrom::Start(self.whole));
                Err(JournalError::Append {
                    path: self.path.clone(),
                    source,
                })
            }
        }
    }

    /// Makes everything durable.
    pub fn close(&mut self) -> Result<(), JournalError> {
        let background = self.durable.take().map_or(Ok(()), Durable::end);
        let synced = background.and_then(|()| self.file.sync_all());
        synced.map_err(|source| JournalError::Close {
            path: self.path.clone(),
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two searches would cut off each other's lines.
    #[test]
    fn one_search_at_a_time() {
        use crate::leaf::Query;
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a.cert");
        let query = Query {
            function: crate::function::ElementaryFunction::find("exp").expect("known"),
            format: crate::format::BINARY64,
            bits: 40,
            isa: None,
        };
        let header = Header::new(&query, 1.0, 1.5, 7, "cpu");
        let (mut first, _) = Journal::open(&path, &header, false).expect("new");
        let second = Journal::open(&path, &header, true).err().expect("in use");
        assert!(matches!(second, JournalError::InUse(_)), "{second:?}");
        // Its thread has the file open too, and ends here.
        first.close().expect("written");
        drop(first);
        assert!(Journal::open(&path, &header, true).is_ok());
    }

    /// A line that cannot be written is an error that is told, and what is whole stays.
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
        assert!(matches!(e, JournalError::Append { .. }), "{e:?}");
        assert_eq!(journal.whole, 0);
    }
}
