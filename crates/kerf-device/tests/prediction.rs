//! Predictions against times that were measured on the H200, replayed from the record.
mod replay;

use std::path::Path;

fn rows() -> Vec<replay::Row> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/runs/2026-11-15-h200-prediction");
    let all = replay::read(&folder);
    all.iter().map(replay::predict).collect()
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

#[test]
fn recorded_times_are_predicted() {
    let rows = rows();
    let table = replay::table(&rows);
    let plans: usize = rows.iter().map(|r| r.measured.len()).sum();
    assert!(plans >= 500, "{table}");
    let errors = |some: &dyn Fn(&&replay::Row) -> bool| {
        let all = rows.iter().filter(some).flat_map(|r| r.errors());
        mean(&all.map(f64::abs).collect::<Vec<_>>())
    };
    assert!(errors(&|_| true) <= 0.12, "{table}");
    assert!(errors(&|r| r.fitted()) <= 0.11, "{table}");
    assert!(errors(&|r| !r.fitted()) <= 0.13, "{table}");
    for r in &rows {
        assert!(r.mean_error() <= 0.3, "{}: {table}", r.name);
        let (order, pairs) = r.order();
        assert!(pairs < 5 || order >= 0.8, "{}: {table}", r.name);
        let (apart, told) = r.distinct();
        assert!(told < 5 || apart >= 0.85, "{}: {table}", r.name);
    }
    let high = rows.iter().filter(|r| r.correlation() >= 0.9).count();
    assert!(high >= 10, "{table}");
}
