//! The process that hands out units.
use crate::{ClusterError, SILENCE};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How often the coordinator looks up when nothing happens.
const LOOK: Duration = Duration::from_millis(200);
/// Longest line that a worker may send.
const LINE: u64 = 1 << 26;

/// What is to be done.
#[derive(Debug, Clone)]
pub struct UnitRanges {
    /// Secret that workers have to know.
    pub token: String,
    /// Numbers of the units.
    pub units: Vec<Range<u64>>,
    /// Units handed out at once, at most.
    pub chunk: u64,
    /// Workers that are expected.
    pub workers: usize,
}

enum Event {
    Joined(usize, TcpStream),
    Line(usize, String),
    Lost(usize),
}

/// Hands out the units of a plan until all are done. `sink` takes each result and says which unit it is;
/// `told` hears of workers that are lost, with the number of their units that are done again; `hope` says whether
/// more workers may still come.
pub fn coordinate<E: From<ClusterError>>(
    listener: TcpListener,
    plan: &UnitRanges,
    mut sink: impl FnMut(&str) -> Result<u64, E>,
    mut told: impl FnMut(usize),
    mut hope: impl FnMut() -> bool,
) -> Result<(), E> {
    let address = listener
        .local_addr()
        .map_err(ClusterError::network("reading the own address"))?;
    let over = Arc::new(AtomicBool::new(false));
    let (send, events) = channel();
    let accepting = {
        let (over, token, send) = (over.clone(), plan.token.clone(), send.clone());
        std::thread::spawn(move || accept(&listener, &token, &over, &send))
    };
    let mut state = State {
        left: plan.units.iter().map(|r| r.end - r.start).sum(),
        units: plan.units.iter().rev().cloned().collect(),
        chunk: plan.chunk.max(1),
        expected: plan.workers.max(1) as u64,
        workers: BTreeMap::new(),
    };
    let mut lost = 0;
    let mut run = || -> Result<(), E> {
        while state.left > 0 {
            match events.recv_timeout(LOOK) {
                Ok(Event::Joined(id, stream)) => {
                    state.workers.insert(id, (stream, BTreeSet::new()));
                    state.give(id);
                }
                Ok(Event::Line(id, line)) => match line.as_str() {
                    "alive" => {}
                    "done" => state.give(id),
                    _ if state.workers.contains_key(&id) => {
                        let unit = sink(&line)?;
                        state.done(id, unit);
                    }
                    _ => {}
                },
                Ok(Event::Lost(id)) => {
                    if let Some((_, held)) = state.workers.remove(&id) {
                        lost += 1;
                        told(held.len());
                        state.put_back(held);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    if state.workers.is_empty() && !hope() {
                        return Err(ClusterError::Lost(lost, state.left).into());
                    }
                }
            }
        }
        Ok(())
    };
    let result = run();
    over.store(true, Ordering::Relaxed);
    for (stream, _) in state.workers.values_mut() {
        let _ = stream.write_all(b"end\n");
    }
    // Wakes the thread that accepts. An address of all interfaces is reached by this one.
    let own = std::net::SocketAddr::new([127, 0, 0, 1].into(), address.port());
    let _ = TcpStream::connect_timeout(&own, LOOK);
    let _ = accepting.join();
    result
}

struct State {
    left: u64,
    /// What nobody has, the next last.
    units: Vec<Range<u64>>,
    chunk: u64,
    expected: u64,
    workers: BTreeMap<usize, (TcpStream, BTreeSet<u64>)>,
}

impl State {
    /// Gives a worker something to do, if there is something.
    fn give(&mut self, id: usize) {
        let Some((stream, held)) = self.workers.get_mut(&id) else {
            return;
        };
        if !held.is_empty() {
            return;
        }
        let free: u64 = self.units.iter().map(|r| r.end - r.start).sum();
        // Smaller towards the end, so that all finish together.
        let share = (free / (4 * self.expected)).clamp(1, self.chunk);
        let Some(range) = self.units.pop() else {
            return;
        };
        let end = range.end.min(range.start + share);
        if end < range.end {
            self.units.push(end..range.end);
        }
        held.extend(range.start..end);
        // One that cannot be written to is found to be lost by its reader.
        let _ = stream.write_all(format!("work {} {end}\n", range.start).as_bytes());
    }

    fn done(&mut self, id: usize, unit: u64) {
        if let Some((_, held)) = self.workers.get_mut(&id)
            && held.remove(&unit)
        {
            self.left -= 1;
        }
    }

    /// Units of a lost worker, for those that wait or will ask.
    fn put_back(&mut self, held: BTreeSet<u64>) {
        self.units.extend(held.into_iter().map(|u| u..u + 1));
        let idle: Vec<usize> = self
            .workers
            .iter()
            .filter(|(_, w)| w.1.is_empty())
            .map(|(id, _)| *id)
            .collect();
        idle.into_iter().for_each(|id| self.give(id));
    }
}

/// Takes workers that know the secret.
fn accept(listener: &TcpListener, token: &str, over: &AtomicBool, events: &Sender<Event>) {
    for (id, stream) in listener.incoming().enumerate() {
        if over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let (token, events) = (token.to_owned(), events.clone());
        std::thread::spawn(move || listen(id, stream, &token, &events));
    }
}

fn listen(id: usize, stream: TcpStream, token: &str, events: &Sender<Event>) {
    let _ = stream.set_read_timeout(Some(SILENCE));
    let _ = stream.set_write_timeout(Some(SILENCE));
    let _ = stream.set_nodelay(true);
    let Ok(back) = stream.try_clone() else { return };
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    let mut next = |line: &mut String| {
        line.clear();
        let read = std::io::Read::take(&mut reader, LINE).read_line(line);
        read.is_ok() && line.ends_with('\n')
    };
    if !next(&mut line) || line.trim_end() != token {
        return;
    }
    if events.send(Event::Joined(id, back)).is_err() {
        return;
    }
    while next(&mut line) {
        let event = Event::Line(id, line.trim_end().to_owned());
        if events.send(event).is_err() {
            return;
        }
    }
    let _ = events.send(Event::Lost(id));
}
