//! The search over processes.
use crate::campaign::{Campaign, CampaignError};
use crate::engine::{BATCH, SearchEngine, own_gpu};
use kerf_cluster::{Team, TeamMember, UnitRanges, coordinate, join};
use kerf_hardround::certificate::{Header, UnitRecord};
use kerf_hardround::leaf::Query;
use kerf_hardround::units::Units;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Units handed out at once, at most: enough for a GPU to be busy meanwhile.
const CHUNK: u64 = 2048;

/// Within this time, processes that have not connected may still be starting.
const STARTING: Duration = Duration::from_secs(40);

/// Does units for another process until that says that all is done.
pub fn work(
    member: &TeamMember,
    engine: &mut SearchEngine,
    q: &Query,
    units: &Units,
    header: &Header,
) -> Result<(), CampaignError> {
    join(&member.address, &member.token, |range, reply| {
        let sink = |_, text: String| match reply.line(&text) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        Ok(engine.search(q, units, range, header, |_| true, sink)?)
    })
}

/// A unit that another process has finished.
fn received(line: &str, header: &Header) -> Result<UnitRecord, CampaignError> {
    let unit: UnitRecord = serde_json::from_str(line).map_err(CampaignError::NotAUnit)?;
    match unit.digest(header) == unit.hash {
        true => Ok(unit),
        false => Err(CampaignError::WrongHash),
    }
}

/// Hands out the units that are not finished, and keeps what comes back. `lost` is told how many units of a lost process
/// others do.
pub fn coordinate_units(
    mut team: Team,
    q: &Query,
    threads: usize,
    on_gpu: bool,
    campaign: &mut Campaign,
    lost: impl FnMut(usize),
) -> Result<(), CampaignError> {
    let plan = UnitRanges {
        token: team.token.clone(),
        units: campaign.finished.units.missing(campaign.units.len()),
        chunk: match on_gpu {
            true => CHUNK.max(BATCH as u64 / 2),
            false => 64,
        },
        workers: team.workers,
    };
    let listener = team.listener.try_clone().map_err(CampaignError::Listen)?;
    let (header, units) = (campaign.header, campaign.units);
    let own = team.own.clone();
    let began = Instant::now();
    std::thread::scope(|scope| {
        // This process works too where it is a rank; a failure of its own is told when nobody is left.
        let working = own.map(|member| {
            scope.spawn(move || {
                let gpu = on_gpu.then(|| own_gpu(member.local_rank));
                let mut engine = SearchEngine::new(gpu, threads)?;
                work(&member, &mut engine, q, units, header)
            })
        });
        let result = coordinate(
            listener,
            &plan,
            |line| {
                let unit = received(line, header)?;
                let number = unit.unit;
                campaign.keep_unit(unit)?;
                Ok(number)
            },
            lost,
            || {
                let starting = began.elapsed() < STARTING;
                let here = working.as_ref().is_some_and(|w| !w.is_finished());
                here || (working.is_some() && starting) || team.runs()
            },
        );
        let own = working.and_then(|w| w.join().ok()).unwrap_or(Ok(()));
        match (result, own) {
            (Err(CampaignError::TimeOver), _) => Err(CampaignError::TimeOver),
            (Err(_), Err(e)) => Err(e),
            (r, _) => r,
        }
    })
}
