//! The normal and Student's distribution, as strategies and races need them.
//!
//! Formulas of elementary functions alone, in a fixed order: a search is repeated bit for bit from its record, so a library
//! whose next version rounds differently is not used.

/// Density of the standard normal distribution.
fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt()
}

/// Distribution function of the standard normal, to about 1e-7 absolute (Abramowitz and Stegun 26.2.17).
pub fn normal_cdf(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let poly = t
        * (0.319_381_530
            + t * (-0.356_563_782
                + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = density(z) * poly;
    if z > 0.0 { 1.0 - tail } else { tail }
}

/// Logarithm of [`normal_cdf`], also far in the tail.
pub fn log_normal_cdf(z: f64) -> f64 {
    if z > -4.0 {
        return normal_cdf(z).max(1e-300).ln();
    }
    let z2 = z * z;
    -0.5 * z2 - (-z).ln() - 0.5 * std::f64::consts::TAU.ln() + (1.0 - 1.0 / z2).ln()
}

/// Logarithm of the expected improvement below `best` of something normal.
pub fn log_improvement(best: f64, mean: f64, sd: f64) -> f64 {
    let sd = sd.max(1e-9);
    let z = (best - mean) / sd;
    if z > -4.0 {
        let h = density(z) + z * normal_cdf(z);
        return sd.ln() + h.max(1e-300).ln();
    }
    // h(z) = density(z) / z^2 * (1 - 3/z^2 + 15/z^4 - ...)
    let z2 = z * z;
    sd.ln() - 0.5 * z2 - 0.5 * std::f64::consts::TAU.ln() - z2.ln()
        + (1.0 - 3.0 / z2 + 15.0 / (z2 * z2)).ln()
}

/// Quantile of the standard normal distribution (Acklam's rational approximation, to 1e-9 relative).
fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -39.696_830_286_653_76,
        220.946_098_424_520_5,
        -275.928_510_446_968_7,
        138.357_751_867_269,
        -30.664_798_066_147_16,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -54.476_098_798_224_06,
        161.585_836_858_040_9,
        -155.698_979_859_886_6,
        66.801_311_887_719_72,
        -13.280_681_552_885_72,
    ];
    const C: [f64; 6] = [
        -0.007_784_894_002_430_293,
        -0.322_396_458_041_136_5,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        0.007_784_695_709_041_462,
        0.322_467_129_070_039_8,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    let tail = |q: f64| {
        (((((C[0] * q + C[1]) * q + C[2]) * q + C[3]) * q + C[4]) * q + C[5])
            / ((((D[0] * q + D[1]) * q + D[2]) * q + D[3]) * q + 1.0)
    };
    if p < 0.02425 {
        return tail((-2.0 * p.ln()).sqrt());
    }
    if p > 1.0 - 0.02425 {
        return -tail((-2.0 * (1.0 - p).ln()).sqrt());
    }
    let q = p - 0.5;
    let r = q * q;
    (((((A[0] * r + A[1]) * r + A[2]) * r + A[3]) * r + A[4]) * r + A[5]) * q
        / (((((B[0] * r + B[1]) * r + B[2]) * r + B[3]) * r + B[4]) * r + 1.0)
}

/// Quantile of Student's distribution, by the expansion of Cornish and Fisher to the fourth order; below
/// three degrees of freedom it errs to the wide side of none, so those have their closed forms.
pub fn student_quantile(p: f64, degrees: f64) -> f64 {
    if degrees < 1.5 {
        return (std::f64::consts::PI * (p - 0.5)).tan();
    }
    if degrees < 2.5 {
        let a = 2.0 * p - 1.0;
        return a * (2.0 / (1.0 - a * a)).sqrt();
    }
    let z = normal_quantile(p);
    let (z3, z5, z7, z9) = (z.powi(3), z.powi(5), z.powi(7), z.powi(9));
    z + (z3 + z) / (4.0 * degrees)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * degrees.powi(2))
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * degrees.powi(3))
        + (79.0 * z9 + 776.0 * z7 + 1482.0 * z5 - 1920.0 * z3 - 945.0 * z)
            / (92160.0 * degrees.powi(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_join_the_middle() {
        assert!((normal_cdf(0.0) - 0.5).abs() < 1e-7);
        assert!((normal_cdf(1.96) - 0.975_002).abs() < 1e-6);
        for f in [log_normal_cdf, |z| log_improvement(z, 0.0, 1.0)] {
            let (a, b) = (f(-4.0 + 1e-6), f(-4.0 - 1e-6));
            assert!((a - b).abs() < 0.03, "{a} {b}");
            assert!(f(-30.0) < f(-29.0));
        }
        assert!((log_improvement(1.0, 1.0, 0.1).exp() - 0.039_894).abs() < 1e-5);
    }

    #[test]
    fn quantiles_are_students() {
        for (p, degrees, expected) in [
            (0.975, 1.0, 12.706),
            (0.975, 2.0, 4.3027),
            (0.975, 4.0, 2.7764),
            (0.99, 10.0, 2.7638),
            (0.975, 1e6, 1.96),
        ] {
            let t = student_quantile(p, degrees);
            assert!((t / expected - 1.0).abs() < 0.01, "{p} {degrees}: {t}");
        }
    }

    #[test]
    fn quantiles_invert_the_distribution() {
        for p in [
            0.001, 0.02, 0.024, 0.025, 0.3, 0.5, 0.7, 0.975, 0.976, 0.999,
        ] {
            let back = normal_cdf(normal_quantile(p));
            assert!((back - p).abs() < 2e-7, "{p}: {back}");
        }
    }
}
