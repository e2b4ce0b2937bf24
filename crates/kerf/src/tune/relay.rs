//! Workers of other ranks of mpirun, for `kerf tune`.
//!
//! Rank 0 tunes, and keeps the store. Each other rank listens; for each connection it starts a worker process whose
//! input and answers are the connection itself. On rank 0 a small process, the relay, stands for that worker, so
//! that time limits and crashes are dealt with as of workers here. A relay that loses its rank says so, and the
//! evaluation is done by another.
use crate::fail::Failure;
use kerf_tune::evaluate::{LOST, LOST_CODE, WorkerProgram};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The descriptor on which workers answer.
const ANSWERS: i32 = 3;
/// How long a rank is tried to be reached.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest first line.
const LINE: usize = 128;

/// Where this process is.
pub enum Place {
    /// A rank that served another, which is done.
    Served,
    /// The one that tunes, with other ranks or without.
    Here(Option<Others>),
}

/// The other ranks, as rank 0 sees them.
pub struct Others {
    /// Programs that reach their workers.
    pub programs: Vec<WorkerProgram>,
    /// Ends the ranks when it is dropped.
    _control: Vec<TcpStream>,
    /// The file with the secret, removed with it.
    _secret: tempfile::NamedTempFile,
}

/// Meets the other ranks; all but rank 0 serve `each` workers at a time until rank 0 is gone.
#[cfg(feature = "mpi")]
pub fn ranks(each: usize) -> Result<Place, Failure> {
    let Some(r) = crate::cluster::meet()? else {
        return Ok(Place::Here(None));
    };
    if r.rank > 0 {
        serve(&r.listener, &r.token, r.local)?;
        return Ok(Place::Served);
    }
    others(&r.addresses[1..], &r.token, each).map(|o| Place::Here(Some(o)))
}

/// Without MPI there are none, and several of them would be a mistake.
#[cfg(not(feature = "mpi"))]
pub fn ranks(_each: usize) -> Result<Place, Failure> {
    match crate::cluster::role(0)? {
        crate::cluster::Role::Alone => Ok(Place::Here(None)),
        _ => Ok(Place::Served),
    }
}

fn connect(address: &str) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::other("the name has no address");
    for a in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&a, PATIENCE) {
            Ok(s) => return Ok(s),
            Err(e) => last = e,
        }
    }
    Err(last)
}

#[cfg_attr(not(feature = "mpi"), allow(dead_code))]
fn others(addresses: &[String], token: &str, each: usize) -> Result<Others, Failure> {
    let fail = |e: std::io::Error| {
        Failure::new(format!("cannot reach the other ranks: {e}"))
            .help("check that the machines reach each other by TCP")
    };
    let mut secret = tempfile::NamedTempFile::new().map_err(fail)?;
    secret.write_all(token.as_bytes()).map_err(fail)?;
    let path = std::env::current_exe().map_err(fail)?;
    let mut control = Vec::new();
    let mut programs = Vec::new();
    for a in addresses {
        let mut stream = connect(a).map_err(fail)?;
        stream
            .write_all(format!("{token} control\n").as_bytes())
            .map_err(fail)?;
        control.push(stream);
        for _ in 0..each.max(1) {
            let file = secret.path().display().to_string();
            programs.push(WorkerProgram {
                path: path.clone(),
                args: vec!["relay".into(), a.clone(), file],
            });
        }
    }
    Ok(Others {
        programs,
        _control: control,
        _secret: secret,
    })
}

/// The first line, without a byte of what follows.
fn first_line(s: &mut TcpStream) -> Option<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < LINE {
        s.read_exact(&mut byte).ok()?;
        if byte[0] == b'\n' {
            return String::from_utf8(line).ok();
        }
        line.push(byte[0]);
    }
    None
}

/// A rank's side: workers for whoever knows the secret, until rank 0 is gone.
#[cfg_attr(not(feature = "mpi"), allow(dead_code))]
fn serve(listener: &std::net::TcpListener, token: &str, local: usize) -> Result<(), Failure> {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { continue };
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let line = first_line(&mut stream);
        let _ = stream.set_read_timeout(None);
        let Some((given, what)) = line.as_deref().and_then(|l| l.split_once(' ')) else {
            continue;
        };
        if given != token {
            continue;
        }
        let what = what.to_owned();
        std::thread::spawn(move || match what.as_str() {
            "control" => {
                // Nothing comes but the end.
                let _ = stream.read(&mut [0]);
                std::process::exit(0);
            }
            _ => worker(&stream, local),
        });
    }
    Ok(())
}

/// Runs one worker process on a connection.
#[cfg_attr(not(feature = "mpi"), allow(dead_code))]
fn worker(stream: &TcpStream, local: usize) {
    let (Ok(program), Ok(input)) = (std::env::current_exe(), stream.try_clone()) else {
        return;
    };
    let answers = stream.as_raw_fd();
    let mut command = Command::new(program);
    command
        .arg("worker")
        .stdin(Stdio::from(OwnedFd::from(input)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // The job names GPU 0: of those that this process sees, its own.
    if std::env::var_os("CUDA_VISIBLE_DEVICES").is_none() {
        command.env("CUDA_VISIBLE_DEVICES", local.to_string());
    }
    // SAFETY: only async-signal-safe calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            if libc::dup2(answers, ANSWERS) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    if let Ok(mut child) = command.spawn() {
        while matches!(child.try_wait(), Ok(None)) {
            let mut p = libc::pollfd {
                fd: answers,
                events: libc::POLLRDHUP,
                revents: 0,
            };
            // SAFETY: one descriptor, which is open.
            let n = unsafe { libc::poll(&mut p, 1, 100) };
            if n > 0 {
                // The relay is gone: nobody wants the answer.
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

/// Passes bytes on as they come, to the end. Not by `io::copy`, which lets the kernel move them, and that may wait
/// for more than has come.
fn pass_on(from: &mut impl Read, to: &mut impl Write) {
    let mut some = [0; 1 << 16];
    while let Ok(n) = from.read(&mut some) {
        if n == 0 || to.write_all(&some[..n]).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

/// The relay: standard input to a rank's worker, its answers to the pipe that is waited on.
pub fn relay(address: &str, secret: &Path) -> i32 {
    let lost = || {
        crate::output::note(LOST);
        LOST_CODE
    };
    let Ok(token) = std::fs::read_to_string(secret) else {
        return lost();
    };
    let greet = || -> std::io::Result<TcpStream> {
        let mut s = connect(address)?;
        s.write_all(format!("{token} worker\n").as_bytes())?;
        Ok(s)
    };
    let Ok(mut stream) = greet() else {
        return lost();
    };
    let _ = stream.set_nodelay(true);
    let Ok(mut sending) = stream.try_clone() else {
        return lost();
    };
    std::thread::spawn(move || {
        pass_on(&mut std::io::stdin().lock(), &mut sending);
        // Rank 0 wants no more of this worker.
        std::process::exit(0);
    });
    // SAFETY: the parent passed the pipe as this descriptor.
    let mut out = unsafe { std::fs::File::from_raw_fd(ANSWERS) };
    pass_on(&mut stream, &mut out);
    // The worker ended. If its rank still answers, it was the worker that died.
    match connect(address) {
        Ok(_) => {
            crate::output::note("the worker process of another rank died");
            1
        }
        Err(_) => lost(),
    }
}
