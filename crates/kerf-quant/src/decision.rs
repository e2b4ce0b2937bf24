//! What the quantizer tells a backend to do at a point in one step, and what the backend tells back.
//!
//! A backend computes exactly this, in `f32`, round half to even, no fused operations:
//!
//! ```text
//! lo, hi  = the range: fixed, or of this tensor (of each channel): hi = max - shrink * max
//! lo, hi  = min(lo, 0), max(hi, 0)                    zero is always a value of the grid
//! affine:     step = (hi - lo) / steps                 low = -round(-lo / step), high = low + steps
//! symmetric:  half = floor(steps / 2)
//!             step = max(-lo, hi) / half               low = -half, high = half
//! printed:    step = 2 * max(-lo, hi) / steps          low = -(half + 1), high = half
//! step    = 1 where the range is zero, otherwise at least the smallest normal number
//! r       = round(x * (1 / step))                      the place on the grid; the inverse is rounded too
//! y       = clamp(r, low, high) * step
//! dy/dx   = 1 where low <= r <= high, else 0           straight through, clipped to the range
//! ```
//!
//! The integer that a device stores is `clamp(r) - low` (unsigned, zero point `-low`) or `clamp(r)` (signed).
use serde::{Deserialize, Serialize};

/// How a range becomes a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// From the lowest to the highest value, with a zero point (Dao, eq. 4.5; 4.3 where nothing is negative).
    Affine,
    /// Zero in the middle, as many steps on both sides: `-127..=127` for 8 bits.
    Symmetric,
    /// Two's complement: `-128..=127` for 8 bits, with the scale of Dao's eq. 4.4, whose largest value
    /// falls half a step outside.
    Printed,
}

/// Where a grid ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GridRange {
    /// The lowest and highest value of the tensor that is there, the highest lowered by `shrink * max`.
    Observed {
        /// Part of the highest value that is taken off; 0 for none.
        shrink: f32,
    },
    /// These, one each, or one for each channel.
    Fixed {
        /// Lower ends.
        lo: Vec<f32>,
        /// Upper ends.
        hi: Vec<f32>,
    },
}

/// What is random in a quantization.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noise {
    /// Nothing.
    #[default]
    None,
    /// An element is rounded up with the probability of its fraction: `floor(x * (1 / step) + u)`, u in [0, 1)
    /// (Polino et al., 2018).
    Rounding,
    /// An element is quantized with this probability and left as it is otherwise (Fan et al., 2020).
    Portion(f32),
}

/// What to do at one point in one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Steps between the lowest and the highest value: `2^bits - 1`. `None`: leave the tensor as it is (more
    /// than 23 bits are the same as that in `f32`).
    pub steps: Option<f32>,
    /// How the range becomes a grid.
    pub scheme: Scheme,
    /// Where the grid ends.
    pub range: GridRange,
    /// A second number of steps, and its part of the result: `(1 - w) * y + w * y2`. The gradient to `x` is
    /// blended alike.
    pub blend: Option<(f32, f32)>,
    /// What is random.
    pub noise: Noise,
    /// Seed of it: element `i` draws `seed::unit(seed, i)`, where a backend can.
    pub seed: u64,
}

impl Decision {
    /// Leaves the tensor as it is.
    pub fn pass(scheme: Scheme) -> Decision {
        Decision {
            steps: None,
            scheme,
            range: GridRange::Observed { shrink: 0.0 },
            blend: None,
            noise: Noise::None,
            seed: 0,
        }
    }
}

/// How often values fall into equal parts of a range.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Histogram {
    /// Lower end.
    pub lo: f32,
    /// Upper end; belongs to the last part.
    pub hi: f32,
    /// How many, for each part.
    pub counts: Vec<f64>,
}

/// Sums over a tensor's elements, `g` being the gradient that comes back to `y`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct PointGradient {
    /// Of `g` where `r > high`: with the range's upper end.
    pub above: f64,
    /// Of `g` where `r < low`: with the range's lower end.
    pub below: f64,
    /// Of `g * (r - x * (1 / step))` between them: with the step (Esser et al., 2020).
    pub step: f64,
    /// Of `g * (y2 - y)`: with the part of the blend; 0 without one.
    pub blend: f64,
}

/// What a backend tells of a point.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PointReport {
    /// Lowest value before quantization, of the tensor or of each channel.
    pub min: Vec<f32>,
    /// Highest.
    pub max: Vec<f32>,
    /// Values of the tensor from `min` to `max` in as many parts as were asked for. Activations only.
    pub histogram: Option<Histogram>,
    /// Gradients, where they were asked for.
    pub gradient: Option<PointGradient>,
}
