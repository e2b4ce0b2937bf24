//! A process that does units.
use crate::{ClusterError, HEARTBEAT};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long the coordinator is tried to be reached.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a worker says.
pub struct Reply<'a>(&'a Mutex<BufWriter<TcpStream>>);

fn lock(w: &Mutex<BufWriter<TcpStream>>) -> MutexGuard<'_, BufWriter<TcpStream>> {
    w.lock().unwrap_or_else(|e| e.into_inner())
}

impl Reply<'_> {
    /// The result of a unit, one line; false if nobody listens any more.
    pub fn line(&self, text: &str) -> bool {
        let mut w = lock(self.0);
        w.write_all(text.as_bytes())
            .and_then(|()| w.write_all(b"\n"))
            .is_ok()
    }
}

fn connect(address: &str) -> Result<TcpStream, ClusterError> {
    let what = format!("connecting to {address}");
    let began = Instant::now();
    loop {
        let tried = address.to_socket_addrs().and_then(|all| {
            let mut last = std::io::Error::other("the name has no address");
            for a in all {
                match TcpStream::connect_timeout(&a, Duration::from_secs(5)) {
                    Ok(s) => return Ok(s),
                    Err(e) => last = e,
                }
            }
            Err(last)
        });
        match tried {
            Ok(s) => return Ok(s),
            Err(_) if began.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(100));
            }
            Err(why) => return Err(ClusterError::Network { what, why }),
        }
    }
}

/// Works for the coordinator at `address` until it says that all is done, or is gone. `work` does a range of
/// units and says each result; what it fails with ends the worker.
pub fn join<E: From<ClusterError>>(
    address: &str,
    token: &str,
    mut work: impl FnMut(Range<u64>, &Reply) -> Result<(), E>,
) -> Result<(), E> {
    let stream = connect(address)?;
    let _ = stream.set_nodelay(true);
    let reading = stream
        .try_clone()
        .map_err(ClusterError::network("using the connection"))?;
    let writer = Mutex::new(BufWriter::with_capacity(1 << 16, stream));
    let over = AtomicBool::new(false);
    let say = |text: &str| {
        let mut w = lock(&writer);
        w.write_all(text.as_bytes())
            .and_then(|()| w.flush())
            .is_ok()
    };
    say(&format!("{token}\n"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut told = Instant::now();
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
                if told.elapsed() >= HEARTBEAT {
                    told = Instant::now();
                    say("alive\n");
                }
            }
        });
        let result = serve(reading, |range| {
            work(range, &Reply(&writer))?;
            say("done\n");
            Ok(())
        });
        over.store(true, Ordering::Relaxed);
        result
    })
}

fn serve<E: From<ClusterError>>(
    stream: TcpStream,
    mut work: impl FnMut(Range<u64>) -> Result<(), E>,
) -> Result<(), E> {
    for line in BufReader::new(stream).lines() {
        // A coordinator that is gone needs nothing more.
        let Ok(line) = line else { return Ok(()) };
        let mut words = line.split(' ');
        let number = |w: Option<&str>| w.and_then(|w| w.parse().ok());
        match words.next() {
            Some("end") => return Ok(()),
            Some("work") => match (number(words.next()), number(words.next())) {
                (Some(a), Some(b)) => work(a..b)?,
                _ => return Err(ClusterError::Protocol(line).into()),
            },
            _ => return Err(ClusterError::Protocol(line).into()),
        }
    }
    Ok(())
}
