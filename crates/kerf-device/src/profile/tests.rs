use super::*;

fn minimal() -> DeviceProfile {
    DeviceProfile {
        schema: SCHEMA.into(),
        version: VERSION,
        name: "t".into(),
        gpu: "T".into(),
        arch: "9.0".into(),
        origin: ProfileOrigin::default(),
        sources: BTreeMap::new(),
        limits: Limits::default(),
        operations: BTreeMap::new(),
        co_issue: Vec::new(),
    }
}

#[test]
fn a_profile_round_trips() {
    let mut p = minimal();
    p.limits.sms = Figure::measured(132.0);
    let o = OperationProfile {
        latency: Figure::measured_in(4.0, 4.0, 4.1),
        ..OperationProfile::default()
    };
    p.operations.insert("add.f32".into(), o);
    let text = p.to_json();
    assert_eq!(DeviceProfile::parse(&text).expect("parses"), p);
    assert!(text.contains("[4.0, 4.1]"), "arrays stay in one line");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let refused = |p: &DeviceProfile| {
        DeviceProfile::parse(&p.to_json())
            .expect_err("refused")
            .to_string()
    };
    let mut p = minimal();
    p.version = 7;
    assert!(refused(&p).contains("version 7"));
    let mut p = minimal();
    p.limits.sms = Figure::published(1.0, "nowhere");
    assert!(refused(&p).contains("limits.sms"));
    let mut p = minimal();
    p.limits.sms = Figure::measured(-1.0);
    assert!(refused(&p).contains("-1"));
    let mut p = minimal();
    p.operations
        .insert("add.f33".into(), OperationProfile::default());
    assert!(refused(&p).contains("add.f33"));
    assert!(DeviceProfile::parse("{}").is_err());
    assert!(DeviceProfile::parse("").is_err());
}
