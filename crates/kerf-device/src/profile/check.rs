//! What a profile may not say.
use super::*;

/// The figures of a profile with the path of each, for checks and comparisons.
pub fn figures(p: &DeviceProfile) -> Vec<(String, &Figure)> {
    let l = &p.limits;
    let limits = [
        ("sms", &l.sms),
        ("clock_mhz", &l.clock_mhz),
        ("warps_per_sm", &l.warps_per_sm),
        ("blocks_per_sm", &l.blocks_per_sm),
        ("threads_per_block", &l.threads_per_block),
        ("registers_per_sm", &l.registers_per_sm),
        ("registers_per_thread", &l.registers_per_thread),
        ("register_unit", &l.register_unit),
        ("schedulers_per_sm", &l.schedulers_per_sm),
        ("shared_per_sm", &l.shared_per_sm),
        ("shared_per_block", &l.shared_per_block),
        ("shared_unit", &l.shared_unit),
        ("shared_reserved", &l.shared_reserved),
        ("l2_bytes", &l.l2_bytes),
        ("memory_bytes", &l.memory_bytes),
        ("copy_bandwidth", &l.copy_bandwidth),
        ("l2_bandwidth", &l.l2_bandwidth),
        ("launch_overhead", &l.launch_overhead),
        ("memory_overlap", &l.memory_overlap),
        ("contention_lambda", &l.contention_lambda),
        ("idle_power", &l.idle_power),
        ("power_limit", &l.power_limit),
    ];
    let mut all: Vec<_> = limits
        .into_iter()
        .map(|(name, f)| (format!("limits.{name}"), f))
        .collect();
    for (key, o) in &p.operations {
        for (name, f) in [
            ("latency", &o.latency),
            ("latency_to_consumer", &o.latency_to_consumer),
            ("throughput", &o.throughput),
            ("registers", &o.registers),
            ("energy_pj", &o.energy_pj),
        ] {
            all.push((format!("operations.{key}.{name}"), f));
        }
    }
    for (i, c) in p.co_issue.iter().enumerate() {
        all.push((format!("co_issue[{i}].together"), &c.together));
        all.push((format!("co_issue[{i}].serialisation"), &c.serialisation));
    }
    all
}

impl DeviceProfile {
    /// Are keys known, numbers numbers, and sources listed?
    pub(super) fn check(&self) -> Result<(), ProfileError> {
        let bad = |field: &str, why: String| {
            Err(ProfileError::Field {
                field: field.into(),
                why,
            })
        };
        let unlisted = |s: &FigureSource| match s {
            FigureSource::Published(key) if !self.sources.contains_key(key) => Some(key.clone()),
            _ => None,
        };
        let known: std::collections::BTreeSet<String> = crate::operation::catalogue()
            .into_iter()
            .map(|o| o.key)
            .collect();
        for (key, o) in &self.operations {
            if !known.contains(key) {
                return bad(
                    &format!("operations.{key}"),
                    "there is no such operation (docs/reference/profile.md lists them)".into(),
                );
            }
            let Some(a) = &o.accuracy else { continue };
            let errors = [
                ("max_ulp_rounded", a.max_ulp_rounded),
                ("max_ulp_real", a.max_ulp_real),
                ("mean_ulp_real", a.mean_ulp_real),
                ("mean_ulp_rounded", a.mean_ulp_rounded),
                ("max_rel", a.max_rel),
                ("mean_rel", a.mean_rel),
                ("max_abs", a.max_abs),
            ];
            for (name, error) in errors {
                if let Some(e) = error.filter(|e| !e.is_finite() || *e < 0.0) {
                    return bad(
                        &format!("operations.{key}.accuracy.{name}"),
                        format!("{e} is not possible"),
                    );
                }
            }
            if let Some(source) = unlisted(&a.source) {
                return bad(
                    &format!("operations.{key}.accuracy"),
                    format!("its source {source:?} is not among `sources`"),
                );
            }
        }
        for (field, f) in figures(self) {
            if let Some(source) = unlisted(&f.source) {
                return bad(
                    &field,
                    format!("its source {source:?} is not among `sources`"),
                );
            }
            match f.value {
                Some(v)
                    if !v.is_finite()
                        || (v < 0.0
                            && !field.ends_with("energy_pj")
                            && !field.ends_with("serialisation")) =>
                {
                    return bad(&field, format!("{v} is not possible"));
                }
                Some(_) if f.source == FigureSource::Unknown => {
                    return bad(&field, "it has a value and no source".into());
                }
                _ => {}
            }
        }
        Ok(())
    }
}
