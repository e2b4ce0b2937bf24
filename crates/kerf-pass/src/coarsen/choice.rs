//! How a kernel is coarsened, and how it is launched then.
use super::axis::CoarseAxis;
use super::error::CoarsenObstacle;
use serde::{Deserialize, Serialize};

/// How a kernel is coarsened.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coarsening {
    /// Threads whose work one does: 2, 4 or 8.
    pub factor: u32,
    /// Along which axis they are neighbours.
    #[serde(default, skip_serializing_if = "is_x")]
    pub axis: CoarseAxis,
    /// Neighbours that stay together: all of them where it is absent (blocked), 1 where threads of one copy are
    /// neighbours (strided), or a vector's length in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u32>,
}

fn is_x(a: &CoarseAxis) -> bool {
    *a == CoarseAxis::X
}

/// Factors that a plan may have.
pub const FACTORS: [u32; 3] = [2, 4, 8];

impl Coarsening {
    /// Neighbours stay together, along x.
    pub const fn blocked(factor: u32) -> Coarsening {
        Coarsening {
            factor,
            axis: CoarseAxis::X,
            run: None,
        }
    }

    /// Neighbouring copies.
    pub fn run_length(&self) -> u32 {
        self.run.unwrap_or(self.factor)
    }

    /// Why no kernel can be coarsened so; none if one could be.
    pub(super) fn malformed(&self) -> Option<CoarsenObstacle> {
        if !FACTORS.contains(&self.factor) {
            return Some(CoarsenObstacle::Factor {
                factor: self.factor,
            });
        }
        let run = self.run_length();
        let bad = run == 0 || !self.factor.is_multiple_of(run);
        bad.then_some(CoarsenObstacle::Run {
            run,
            factor: self.factor,
        })
    }

    /// The block that a coarsened kernel is launched with where the launch asks for `block`.
    pub fn launch(&self, block: [u32; 3]) -> Result<[u32; 3], CoarsenObstacle> {
        let at = self.axis.index();
        if !block[at].is_multiple_of(self.factor) {
            return Err(CoarsenObstacle::Indivisible {
                block,
                axis: self.axis,
                factor: self.factor,
            });
        }
        let mut physical = block;
        physical[at] /= self.factor;
        Ok(physical)
    }
}

impl std::fmt::Display for Coarsening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} elements along {}", self.factor, self.axis.name())?;
        match self.run {
            None => Ok(()),
            Some(1) => write!(f, ", a block's width apart"),
            Some(run) => write!(f, ", {run} by {run}"),
        }
    }
}
