//! The Pareto front of time against error.
use kerf_search::Assignment;
use serde::{Deserialize, Serialize};

/// A plan that ran, as a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontPoint {
    /// Levels of the groups.
    pub assignment: Assignment,
    /// Time over that of the program as it is.
    pub time: f64,
    /// In the unit of the tolerance.
    pub error: f64,
}

/// Points that none is better than in both, the fastest first. Of equal ones, the first stays.
pub fn front(points: &[FrontPoint]) -> Vec<FrontPoint> {
    let mut all: Vec<&FrontPoint> = points
        .iter()
        .filter(|p| p.time.is_finite() && p.error.is_finite())
        .collect();
    all.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.error.total_cmp(&b.error)));
    let mut least = f64::INFINITY;
    let mut out = Vec::new();
    for p in all {
        if p.error < least {
            least = p.error;
            out.push(p.clone());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(time: f64, error: f64) -> FrontPoint {
        FrontPoint {
            assignment: vec![(time * 10.0) as u8],
            time,
            error,
        }
    }

    #[test]
    fn dominated_points_go() {
        let all = [
            point(1.0, 0.0),
            point(0.5, 3.0),
            point(0.7, 4.0),
            point(0.7, 1.0),
            point(0.5, 2.0),
            point(0.1, f64::INFINITY),
        ];
        let f: Vec<(f64, f64)> = front(&all).iter().map(|p| (p.time, p.error)).collect();
        assert_eq!(f, [(0.5, 2.0), (0.7, 1.0), (1.0, 0.0)]);
    }
}
