//! Gives damaged files to Kerf's readers, in processes of their own, and names those that crash or hang.
//!
//! Damaged bitcode may crash LLVM; Kerf reads it in another process for that reason, so that with `--kerf` each such
//! file is given to `kerf inspect` as well, which has to end with exit code 2 and a message.
use clap::Parser;
use kerf_fuzz::mutate::{Random, file};
use kerf_fuzz::readers::{FileKind, Reader};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

#[derive(Parser)]
struct Options {
    /// Kind of the files.
    kind: FileKind,
    /// Files that are damaged; for a result, files of one result folder.
    #[arg(required = true)]
    seeds: Vec<PathBuf>,
    /// How many files.
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Number of the first.
    #[arg(long, default_value_t = 0)]
    from: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A prepared program (.bc), on which plans are carried out.
    #[arg(long)]
    program: Option<PathBuf>,
    /// `kerf`, which is given each .ll or .bc file that crashed LLVM.
    #[arg(long)]
    kerf: Option<PathBuf>,
    /// Files that did harm are kept here.
    #[arg(long, default_value = "fuzzed")]
    keep: PathBuf,
    /// Seconds that one file may take.
    #[arg(long, default_value_t = 20)]
    limit: u64,
    /// This is a process that reads files; where it says how far it is.
    #[arg(long, hide = true)]
    progress: Option<PathBuf>,
}

type Failure = Box<dyn std::error::Error>;

/// Files were damaged in this order; a result has one file damaged at a time.
struct Source {
    seeds: Vec<Vec<u8>>,
    names: Vec<PathBuf>,
    seed: u64,
    kind: FileKind,
}

impl Source {
    fn new(o: &Options) -> Result<Source, Failure> {
        let seeds = o.seeds.iter().map(std::fs::read);
        Ok(Source {
            seeds: seeds.collect::<Result<_, _>>()?,
            names: o.seeds.clone(),
            seed: o.seed,
            kind: o.kind,
        })
    }

    /// File `number`, and the seed whose place it takes. The first ones are the seeds themselves.
    fn make(&self, number: u64) -> (Vec<u8>, usize) {
        if let Some(seed) = self.seeds.get(number as usize) {
            return (seed.clone(), number as usize);
        }
        let mut r = Random::of_file(self.seed, number);
        let which = r.below(self.seeds.len());
        let bytes = match self.kind {
            // Each file of a result has a form of its own.
            FileKind::Result => file(std::slice::from_ref(&self.seeds[which]), 0, &mut r),
            _ => file(&self.seeds, which, &mut r),
        };
        (bytes, which)
    }

    /// Where a file that takes a seed's place is, in a folder of this process.
    fn place(&self, folder: &Path, which: usize) -> PathBuf {
        let seed = &self.names[which];
        match self.kind {
            FileKind::Workload => seed.clone(),
            _ => folder.join(seed.file_name().unwrap_or_default()),
        }
    }

    /// A result is read with all files of its folder.
    fn copy_folder(&self, folder: &Path) -> std::io::Result<()> {
        let Some(from) = self.names[0]
            .parent()
            .filter(|_| self.kind == FileKind::Result)
        else {
            return Ok(());
        };
        for e in std::fs::read_dir(from)? {
            let f = e?.path();
            if let (true, Some(name)) = (f.is_file(), f.file_name()) {
                std::fs::copy(&f, folder.join(name))?;
            }
        }
        Ok(())
    }
}

/// Reads the files; how far it is stands in `progress`: the number of the file, and how many were accepted.
fn read_all(o: &Options, progress: &Path) -> Result<(), Failure> {
    limit_memory();
    let source = Source::new(o)?;
    let folder = tempfile::tempdir()?;
    source.copy_folder(folder.path())?;
    let program = o.program.as_ref().map(std::fs::read).transpose()?;
    let file = std::fs::OpenOptions::new().write(true).open(progress)?;
    let mut accepted = 0u64;
    for number in o.from..o.from + o.count {
        file.write_all_at(&[number.to_le_bytes(), accepted.to_le_bytes()].concat(), 0)?;
        let (bytes, which) = source.make(number);
        let place = source.place(folder.path(), which);
        let reader = Reader::new(o.kind, &place, program.clone());
        let good = reader.read(&bytes)?;
        if !good && number < source.seeds.len() as u64 {
            let seed = source.names[which].display();
            return Err(
                format!("{seed} is not accepted, so what is made of it tests little").into(),
            );
        }
        accepted += u64::from(good);
        if o.kind == FileKind::Result {
            std::fs::write(place, &source.seeds[which])?;
        }
    }
    let end = o.from + o.count;
    file.write_all_at(&[end.to_le_bytes(), accepted.to_le_bytes()].concat(), 0)?;
    Ok(())
}

/// A file that asks for all memory must not take the machine's.
fn limit_memory() {
    let limit = libc::rlimit {
        rlim_cur: 8 << 30,
        rlim_max: 8 << 30,
    };
    // SAFETY: the structure is whole and lives through the call.
    unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
}

/// How a process that reads files ended: at which file, and how.
struct Ended {
    number: u64,
    accepted: u64,
    how: Option<Harm>,
}

/// What a file did to the process that read it.
#[derive(Debug, thiserror::Error)]
enum Harm {
    #[error("no end within {0} s")]
    Hang(u64),
    #[error("panic")]
    Panic,
    #[error("{0}")]
    Death(ExitStatus),
}

fn start(o: &Options, from: u64, progress: &Path) -> Result<Child, Failure> {
    let mut c = Command::new(std::env::current_exe()?);
    let kind = clap::ValueEnum::to_possible_value(&o.kind).ok_or("a kind without a name")?;
    c.arg(kind.get_name()).args(&o.seeds);
    c.arg("--seed").arg(o.seed.to_string());
    c.arg("--from").arg(from.to_string());
    c.arg("--count").arg((o.from + o.count - from).to_string());
    c.arg("--progress").arg(progress);
    if let Some(p) = &o.program {
        c.arg("--program").arg(p);
    }
    Ok(c.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?)
}

fn read_progress(path: &Path) -> Result<(u64, u64), Failure> {
    let bytes = std::fs::read(path)?;
    let word = |at: usize| -> Result<u64, Failure> {
        Ok(u64::from_le_bytes(
            bytes.get(at..at + 8).ok_or("no progress")?.try_into()?,
        ))
    };
    Ok((word(0)?, word(8)?))
}

/// Reads on from a file until all are read, or one does harm.
fn watch(o: &Options, from: u64, progress: &Path) -> Result<Ended, Failure> {
    std::fs::write(progress, [from.to_le_bytes(), 0u64.to_le_bytes()].concat())?;
    let mut child = start(o, from, progress)?;
    let (mut last, mut since) = (from, Instant::now());
    loop {
        let status = child.try_wait()?;
        let (number, accepted) = read_progress(progress)?;
        let ended = |how| Ended {
            number,
            accepted,
            how,
        };
        if let Some(s) = status {
            let mut said = String::new();
            if let Some(mut e) = child.stderr.take() {
                e.read_to_string(&mut said)?;
            }
            if s.code() == Some(2) {
                return Err(said.trim_start_matches("error: ").trim().into());
            }
            return Ok(ended(harm(s)));
        }
        if number != last {
            (last, since) = (number, Instant::now());
        }
        if since.elapsed() > Duration::from_secs(o.limit) {
            child.kill()?;
            child.wait()?;
            return Ok(ended(Some(Harm::Hang(o.limit))));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn harm(s: ExitStatus) -> Option<Harm> {
    (!s.success()).then(|| match s.code() {
        Some(101) => Harm::Panic,
        _ => Harm::Death(s),
    })
}

/// What Kerf itself does with a file that crashed LLVM in the reader's process.
#[derive(PartialEq, Eq)]
enum Survival {
    /// It refuses the file by name.
    Named,
    /// It reads the file: what LLVM does with it depends on what lies in memory.
    Read,
    /// It dies too.
    Dead,
}

fn survival(kerf: &Path, file: &Path) -> Result<Survival, Failure> {
    let o = Command::new(kerf).arg("inspect").arg(file).output()?;
    let told = String::from_utf8_lossy(&o.stderr).starts_with("error: ");
    Ok(match o.status.code() {
        Some(2) if told => Survival::Named,
        Some(0) => Survival::Read,
        _ => Survival::Dead,
    })
}

fn campaign(o: &Options) -> Result<bool, Failure> {
    let source = Source::new(o)?;
    let progress = tempfile::NamedTempFile::new()?;
    let (mut next, end) = (o.from, o.from + o.count);
    let (mut accepted, mut crashes, mut hangs, mut named, mut read) = (0, 0, 0, 0, 0);
    while next < end {
        let e = watch(o, next, progress.path())?;
        accepted += e.accepted;
        next = e.number + 1;
        let Some(how) = e.how else { continue };
        std::fs::create_dir_all(&o.keep)?;
        let extension = match o.kind {
            FileKind::Workload => "toml",
            FileKind::Plan | FileKind::Profile | FileKind::Result => "json",
            FileKind::Npy => "npy",
            FileKind::Ll => "ll",
            FileKind::Bc => "bc",
            FileKind::Certificate => "cert",
        };
        let kept = o
            .keep
            .join(format!("{:?}-{}-{}.{extension}", o.kind, o.seed, e.number));
        std::fs::write(&kept, source.make(e.number).0)?;
        let of_llvm = matches!(o.kind, FileKind::Ll | FileKind::Bc);
        match &o.kerf {
            Some(kerf) if of_llvm => match survival(kerf, &kept)? {
                Survival::Dead => crashes += 1,
                other => {
                    match other {
                        Survival::Named => named += 1,
                        _ => read += 1,
                    }
                    std::fs::remove_file(&kept)?;
                    continue;
                }
            },
            _ if matches!(how, Harm::Hang(_)) => hangs += 1,
            _ => crashes += 1,
        }
        println!("{}: {how}", kept.display());
    }
    println!(
        "{:?}: {} files, {accepted} accepted, {crashes} crashes, {hangs} without an end, {named} that end a worker and are named, {read} that ended a worker once and were read",
        o.kind, o.count
    );
    Ok(crashes + hangs == 0)
}

fn main() -> ExitCode {
    let o = Options::parse();
    let done = match &o.progress {
        Some(p) => read_all(&o, p).map(|()| true),
        None => campaign(&o),
    };
    kerf_fuzz::exit_code(done)
}
