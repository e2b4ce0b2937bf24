//! The search over processes.
use super::engine::{BATCH, Engine, gpus, own_gpu};
use super::running::Running;
use crate::cluster::{Post, Team};
use crate::fail::Failure;
use crate::output::note;
use kerf_cluster::{UnitRanges, coordinate, join};
use kerf_hardround::certificate::{Header, UnitRecord};
use kerf_hardround::leaf::Query;
use kerf_hardround::units::Units;
use std::ops::{ControlFlow, Range};

/// Units handed out at once, at most: enough for a GPU to be busy meanwhile.
const CHUNK: u64 = 2048;

/// Does units for another process until that says that all is done.
pub fn work(
    post: &Post,
    engine: &mut Engine,
    q: &Query,
    units: &Units,
    header: &Header,
) -> Result<(), Failure> {
    join(&post.address, &post.token, |range, reply| {
        engine.search(
            q,
            units,
            range,
            header,
            |_| true,
            |_, text| match reply.line(&text) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            },
        )
    })
}

/// Ranges of units that are not done.
fn missing(running: &Running) -> Vec<Range<u64>> {
    let mut all: Vec<Range<u64>> = Vec::new();
    let mut at = 0;
    for unit in running
        .done
        .numbers
        .iter()
        .copied()
        .chain([running.units.len()])
    {
        if at < unit {
            all.push(at..unit);
        }
        at = unit + 1;
    }
    all
}

/// Hands out the units that are not done, and keeps what comes back.
pub fn coordinate_units(
    mut team: Team,
    q: &Query,
    threads: usize,
    gpu: Option<i32>,
    running: &mut Running,
) -> Result<(), Failure> {
    let plan = UnitRanges {
        token: team.token.clone(),
        units: missing(running),
        chunk: match gpu {
            Some(_) => CHUNK.max(BATCH as u64 / 2),
            None => 64,
        },
        workers: team.workers,
    };
    let listener = team
        .listener
        .try_clone()
        .map_err(|e| Failure::new(format!("cannot listen: {e}")))?;
    let (header, units) = (running.header, running.units);
    let own = team.own.clone();
    let here = own.as_ref().map_or(team.workers, |p| p.here);
    // Ranks that each see a GPU of their own see one.
    if gpu.is_some() && std::env::var_os("CUDA_VISIBLE_DEVICES").is_none() {
        let there = gpus(here);
        if there < here {
            note(&format!(
                "{here} processes of this machine share {there} GPU{}",
                if there == 1 { "" } else { "s" }
            ));
        }
    }
    let began = std::time::Instant::now();
    std::thread::scope(|scope| {
        // This process works too where it is a rank; a failure of its own is told when nobody is left.
        let working = own.map(|post| {
            scope.spawn(move || {
                let mut engine = Engine::new(gpu.map(|_| own_gpu(post.local)), threads)?;
                work(&post, &mut engine, q, units, header)
            })
        });
        let result = coordinate(
            listener,
            &plan,
            |line| {
                let unit: UnitRecord = serde_json::from_str(line)
                    .map_err(|e| Failure::new(format!("a process sent nonsense: {e}")))?;
                if unit.digest(header) != unit.hash {
                    return Err(Failure::new("a process sent a unit with a wrong hash"));
                }
                let number = unit.unit;
                running.keep_unit(unit, line)?;
                Ok(number)
            },
            |again| {
                note(&format!(
                    "a process was lost; {again} of its units are done by others"
                ));
            },
            || {
                let starting = began.elapsed() < std::time::Duration::from_secs(40);
                let here = working.as_ref().is_some_and(|w| !w.is_finished());
                here || (working.is_some() && starting) || team.runs()
            },
        );
        let own = working.and_then(|w| w.join().ok()).unwrap_or(Ok(()));
        match (result, own) {
            (Err(_), Err(e)) => Err(e),
            (r, _) => r,
        }
    })
}
