//! The index of a recorded run, written at the end of the program: device code, and the names that calls refer to.
use super::State;
use crate::process::this_library;
use crate::replay::format::{RecordIndex, RecordedName, RecordedPart, RecordedUnit, VERSION};
use crate::replay::recorder::Recorder;

/// Device code of all units; none where it could not be written.
fn units(s: &State, recorder: &mut Recorder) -> Option<Vec<RecordedUnit>> {
    let mut units = Vec::new();
    for u in &s.units {
        let mut parts = Vec::new();
        for (meta, bitcode) in u.meta.iter().zip(&u.bitcode) {
            parts.push(RecordedPart {
                meta: meta.clone(),
                bitcode: recorder.code(bitcode)?,
            });
        }
        let kept = recorder.code(u.kept)?;
        units.push(RecordedUnit { parts, kept });
    }
    Some(units)
}

/// Ends the record, if there is one.
pub fn finish(s: &mut State) {
    let Some(mut recorder) = s.recorder.take() else {
        return;
    };
    if !s.managed.is_empty() {
        recorder.refuse("the program has __managed__ variables");
    }
    let config = s.config.as_ref();
    if config.is_some_and(|c| !c.plan.kernels.is_empty()) {
        recorder.refuse("the program ran with a plan");
    }
    let units = units(s, &mut recorder).unwrap_or_default();
    let functions = s.functions.iter().map(|(number, f)| RecordedName {
        number: *number,
        unit: f.module,
        symbol: f.symbol.clone(),
        bytes: 0,
    });
    let variables = s.variables.iter().map(|(number, v)| RecordedName {
        number: *number,
        unit: v.module,
        symbol: v.symbol.clone(),
        bytes: v.bytes,
    });
    let device = s.device.as_ref();
    recorder.finish(|refused, calls, bytes| RecordIndex {
        version: VERSION,
        kerf: env!("CARGO_PKG_VERSION").into(),
        runtime: this_library().map_or_else(String::new, |p| p.display().to_string()),
        device: device.map_or("none", |d| d.kind().name()).into(),
        refused,
        calls,
        bytes,
        end: device.map_or(0, |d| d.fixed_end()),
        units,
        functions: functions.collect(),
        variables: variables.collect(),
    });
}
