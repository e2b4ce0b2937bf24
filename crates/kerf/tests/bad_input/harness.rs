//! A folder of files to spoil, and calls of the program.
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A call that has not ended by then hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// The files that the cases spoil.
fn originals() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_input")
}

/// A cache of compiled sources, shared by the tests of one run and by no other run.
fn cache() -> &'static Path {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    CACHE.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bad-input-cache");
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a folder for the cache");
        dir
    })
}

/// A temporary folder with a workload and its source, both right so far.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        let f = Folder(tempfile::tempdir().expect("a temporary folder"));
        for name in ["kernels.cu", "good.toml"] {
            std::fs::copy(originals().join(name), f.path(name)).expect("a copy");
        }
        f
    }

    /// A path in it.
    pub fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.0.path().join(name.as_ref())
    }

    /// Writes a file.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// The good workload with pieces of its text replaced, each of which occurs once.
    pub fn workload(&self, changes: &[(&str, &str)]) -> PathBuf {
        let mut text = std::fs::read_to_string(self.path("good.toml")).expect("the good workload");
        for (from, to) in changes {
            assert_eq!(text.matches(from).count(), 1, "`{from}` in\n{text}");
            text = text.replace(from, to);
        }
        self.file("spoilt.toml", text)
    }

    /// Names of everything in it, hidden or not.
    pub fn names(&self) -> Vec<String> {
        let list = std::fs::read_dir(self.0.path()).expect("a folder");
        let mut names: Vec<String> = list
            .map(|e| {
                e.expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }
}

/// A file of the tests' data.
pub fn original(name: &str) -> PathBuf {
    originals().join(name)
}

/// What a call of the program gave.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// A call of the program, to be added to. Quiet: on a slow machine progress would stand before the message.
pub fn kerf<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut args = args.into_iter().peekable();
    let mut c = with_progress::<&str>([]);
    if args.peek().is_some() {
        c.arg("--quiet");
    }
    c.args(args);
    c
}

/// A call of the program that shows its progress.
pub fn with_progress<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_kerf"));
    c.args(args)
        .env("KERF_CACHE", cache())
        .env_remove("NO_COLOR");
    c
}

/// `kerf run FILE` with further arguments.
pub fn run(file: &Path, more: &[&str]) -> Said {
    let mut c = kerf([OsStr::new("run"), file.as_os_str()]);
    c.args(more);
    call(c)
}

/// `kerf inspect FILE` with further arguments.
pub fn inspect(file: &Path, more: &[&str]) -> Said {
    let mut c = kerf([OsStr::new("inspect"), file.as_os_str()]);
    c.args(more);
    call(c)
}

fn collect(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).expect("a pipe");
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn wait(child: &mut Child, what: &str) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code();
        }
        if start.elapsed() > PATIENCE {
            child.kill().expect("a child that can be killed");
            panic!("{what} does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Carries a call out. Its standard input is a pipe that nothing is ever written to and that stays
/// open: a program that reads it hangs.
pub fn call(mut c: Command) -> Said {
    let what = format!("{c:?}");
    let mut child = c
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program should start");
    let silent = child.stdin.take();
    let out = collect(child.stdout.take().expect("a pipe"));
    let err = collect(child.stderr.take().expect("a pipe"));
    let code = wait(&mut child, &what);
    drop(silent);
    let said = Said {
        code,
        out: out.join().expect("text"),
        err: err.join().expect("text"),
    };
    assert!(
        !said.err.contains("panicked") && !said.out.contains("panicked"),
        "{what}\n{}",
        said.err
    );
    said
}

impl Said {
    /// The call was refused as it should be: code 2, no result, a message with all of `words`, and
    /// advice. Nothing in it steers the terminal.
    #[track_caller]
    pub fn refuses(&self, words: &[&str]) -> &Said {
        assert_eq!(self.code, Some(2), "exit code\n{}{}", self.out, self.err);
        assert_eq!(self.out, "", "a result is printed beside\n{}", self.err);
        assert!(self.err.starts_with("error: "), "{}", self.err);
        for w in words {
            assert!(self.err.contains(w), "no `{w}` in\n{}", self.err);
        }
        let advice = [
            "expected",
            "help: ",
            "tip: ",
            "possible values",
            "Usage: ",
            " is not in ",
        ];
        assert!(
            advice.iter().any(|a| self.err.contains(a)),
            "no advice in\n{}",
            self.err
        );
        let control = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(
            !self.err.contains(control),
            "control characters in\n{:?}",
            self.err
        );
        self
    }

    #[track_caller]
    pub fn succeeds(&self) -> &Said {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self
    }
}
