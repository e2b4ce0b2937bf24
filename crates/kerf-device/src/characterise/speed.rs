//! Latency and throughput out of probes.
use super::compile::Ready;
use super::{CampaignMode, CharacteriseOptions};
use crate::operation::Operation;
use crate::probe::measure::{Best, ProbeBench, Ring, UNSTABLE, summary};
use crate::profile::{CoIssue, DeviceProfile, Figure, OperationProfile};
use kerf_exec::ExecError;

pub(super) fn ring(key: &str, mode: CampaignMode) -> Ring {
    match (key, mode) {
        ("load.dram", CampaignMode::Quick) => Ring::Wander(256 << 20),
        ("load.dram", CampaignMode::Full) => Ring::Wander(1 << 30),
        _ => Ring::Own,
    }
}

/// Latency and throughput of one operation.
pub(super) fn measure(
    r: &Ready,
    o: &CharacteriseOptions,
    sms: u32,
    feed: Option<f64>,
) -> Result<(OperationProfile, Option<Best>, ProbeBench), ExecError> {
    let key = r.probe.key.clone();
    let (repeats, warps): (usize, &[u32]) = match o.mode {
        CampaignMode::Quick => (3, &[8, 16, 32]),
        CampaignMode::Full => (9, &[1, 2, 4, 8, 12, 16, 24, 32]),
    };
    let direct = r.probe.recipe().direct;
    let mut bench = ProbeBench::new(
        r.probe.clone(),
        &r.binary,
        o.ordinal,
        sms,
        ring(&key, o.mode),
    )?;
    let mut p = OperationProfile {
        sass: r.sass.clone(),
        ..OperationProfile::default()
    };
    if r.sass.is_none() {
        p.remarks
            .push("not disassembled: no cuobjdump or nvdisasm at hand".into());
    }
    if direct && let Some(v) = bench.latency(false, repeats)? {
        p.latency = summary(v, 1.0);
    }
    // An address that went through arithmetic is no longer the load's own.
    if let (Some(v), Some(feed)) = (bench.latency(true, repeats)?, feed) {
        let v: Vec<f64> = v.into_iter().map(|x| x - feed).collect();
        p.latency_to_consumer = summary(v, 1.0);
        if !direct {
            p.latency = p
                .latency_to_consumer
                .clone()
                .with_note("through an integer operation, whose latency is taken off");
        }
    }
    p.registers = bench
        .registers()
        .map_or_else(Figure::default, |n| Figure::measured(f64::from(n)));
    if key == "load.l2" || key == "load.dram" || key.starts_with("atomic_add.global") {
        p.remarks
            .push("latency depends on where in the device the memory lies; runs differ".into());
    }
    if key == "load.l2" || key == "load.dram" {
        // What limits these is the device's bandwidth, measured with the limits.
        return Ok((p, None, bench));
    }
    let (best, rates) = bench.throughput(warps, repeats)?;
    let spread = UNSTABLE * best.rate;
    let mut f = summary(rates, spread);
    let shape = format!("{} streams, {} warps", best.shape.streams, best.warps);
    f.note = Some(match f.note {
        Some(n) => format!("{n}; {shape}"),
        None => shape,
    });
    if bench.busy() == 1 {
        f.note = f.note.map(|n| format!("{n}, one multiprocessor alone"));
    }
    p.throughput = f;
    Ok((p, Some(best), bench))
}

pub(super) fn measured_already(p: &OperationProfile) -> bool {
    !p.latency.is_unknown() || !p.throughput.is_unknown() || !p.remarks.is_empty()
}

/// Throughput of a probe that is not one operation of the catalogue.
pub(super) fn pair_rate(r: &Ready, o: &CharacteriseOptions, sms: u32) -> Result<Figure, ExecError> {
    let mut bench = ProbeBench::new(r.probe.clone(), &r.binary, o.ordinal, sms, Ring::Own)?;
    let (best, rates) = bench.throughput(&[4, 8, 16, 32], 5)?;
    Ok(summary(rates, UNSTABLE * best.rate))
}

/// A conversion's rate from that of the trip there and back, where it is the better reading.
pub(super) fn from_round_trip(p: &mut DeviceProfile, op: &Operation, trip: &Figure) {
    let back = format!("convert.{}.{}", op.to.unwrap_or_default(), op.format);
    let back = p.operations.get(&back).and_then(|o| o.throughput.value);
    let (Some(trip), Some(back)) = (trip.value, back) else {
        return;
    };
    let there = 1.0 / (1.0 / trip - 1.0 / back);
    let Some(slot) = p.operations.get_mut(&op.key) else {
        return;
    };
    // Both on one unit, one after the other: otherwise the difference means nothing.
    let alone = slot.throughput.value.unwrap_or(0.0);
    if there.is_finite() && there > alone && there < 1.25 * alone {
        slot.throughput = Figure::measured(there).with_note(format!(
            "from {trip:.2} trips there and back; {alone:.2} when fed through a mask"
        ));
    }
}

/// Two streams together against each alone.
pub(super) fn co_issue(
    first: &str,
    second: &str,
    together: &Figure,
    p: &DeviceProfile,
) -> Option<CoIssue> {
    let rate = |key: &str| p.operations.get(key)?.throughput.value;
    let results = |key: &str| if key.ends_with("x2") { 2.0 } else { 1.0 };
    // Cycles for one instruction of each, by the rate of results.
    let (a, b) = (
        results(first) / rate(first)?,
        results(second) / rate(second)?,
    );
    let both = (results(first) + results(second)) / together.value?;
    let (short, long) = (a.min(b), a.max(b));
    Some(CoIssue {
        first: first.into(),
        second: second.into(),
        together: together.clone(),
        serialisation: Figure::measured((both - long) / short)
            .with_note("1: one after the other; 0: the shorter one is free"),
    })
}

/// Rates of loads that the device's bandwidth limits, per clock and multiprocessor.
pub(super) fn bandwidth_as_operations(p: &mut DeviceProfile, sms: u32) {
    let Some(clock) = p.limits.clock_mhz.value else {
        return;
    };
    let per = |bytes: f64| bytes / 8.0 / (clock * 1e6 * f64::from(sms));
    for (key, bandwidth, note) in [
        (
            "load.l2",
            p.limits.l2_bandwidth.value,
            "64-bit words, from L2's bandwidth with all multiprocessors reading",
        ),
        (
            "load.dram",
            p.limits.copy_bandwidth.value.map(|b| b / 2.0),
            "64-bit words, half of the copy's bandwidth",
        ),
    ] {
        if let (Some(o), Some(b)) = (p.operations.get_mut(key), bandwidth) {
            o.throughput = Figure::measured(per(b)).with_note(note);
        }
    }
}
