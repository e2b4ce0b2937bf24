//! What counts as close enough to the reference.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use kerf_num::Metric;
use kerf_num::metrics::Bound;

/// What one output has to satisfy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// The measure.
    pub metric: Metric,
    /// Its bound: an upper one, except for [`Metric::Digits`], [`Metric::Psnr`] and [`Metric::Ssim`].
    pub tolerance: f64,
    /// References smaller than this count as this in relative errors; `None` for the smallest
    /// normal number of the output's type.
    pub floor: Option<f64>,
    /// The quantile, for [`Metric::Quantile`].
    pub quantile: Option<f64>,
    /// The peak, for [`Metric::Psnr`] and [`Metric::Ssim`]; `None` for the largest absolute value of the reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<f64>,
    /// The program makes NaN of finite inputs on purpose: where the reference has one, the output may have one too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_nan: bool,
}

impl Criterion {
    /// What the criterion asks of an error.
    pub fn bound(&self) -> Bound {
        Bound {
            metric: self.metric,
            quantile: self.quantile.unwrap_or(DEFAULT_QUANTILE),
            tolerance: self.tolerance,
        }
    }
}

/// The quantile of criteria that name none; only [`Metric::Quantile`] looks at it, and it has to name one.
const DEFAULT_QUANTILE: f64 = 0.999;

/// The acceptance criteria of a workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Accept {
    /// For outputs without their own; `None` if the file has no `[accept]`.
    pub all: Option<Criterion>,
    /// For single outputs, by buffer name, with what they do not override filled in.
    pub outputs: BTreeMap<String, Criterion>,
}

impl Accept {
    /// The criterion of an output, if the file sets one.
    pub fn criterion(&self, output: &str) -> Option<&Criterion> {
        self.outputs.get(output).or(self.all.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_outputs_override() {
        let all = Criterion {
            metric: Metric::MaxRel,
            tolerance: 1e-6,
            floor: None,
            quantile: None,
            peak: None,
            allow_nan: false,
        };
        let call = Criterion {
            tolerance: 1e-5,
            ..all
        };
        let accept = Accept {
            all: Some(all),
            outputs: [("call".to_owned(), call)].into(),
        };
        assert_eq!(accept.criterion("call"), Some(&call));
        assert_eq!(accept.criterion("put"), Some(&all));
        assert_eq!(Accept::default().criterion("put"), None);
    }
}
