//! Figures of the publications that studies are set beside.
//!
//! Surineni 2017 is S. Surineni, "Performance/accuracy trade-offs of floating-point arithmetic on NVIDIA
//! GPUs: from a characterization to an auto-tuner", thesis, University of Missouri-Columbia, 2017. Li et
//! al. 2016 is A. Li and others, "SFU-driven transparent approximation acceleration on GPUs", ICS 2016.

/// Columns of the latency tables: Tesla C2070, K40c, Titan X, Titan Xp.
pub const GENERATIONS: [&str; 4] = ["Fermi", "Kepler", "Maxwell", "Pascal"];

/// A row of the latency tables.
#[derive(Debug, Clone, Copy)]
pub struct Latency {
    /// The instruction, by the publication's name.
    pub instruction: &'static str,
    /// Keys of a profile's operations for the standard and the fast version, where it has one.
    pub keys: [Option<&'static str>; 2],
    /// Cycles of the standard version, by generation.
    pub standard: [f64; 4],
    /// Cycles with the fast-math option.
    pub fast: Option<[f64; 4]>,
}

const fn latency(
    instruction: &'static str,
    keys: [Option<&'static str>; 2],
    standard: [f64; 4],
    fast: Option<[f64; 4]>,
) -> Latency {
    Latency {
        instruction,
        keys,
        standard,
        fast,
    }
}

/// Surineni 2017, table IV.
pub const SINGLE_LATENCY: [Latency; 12] = [
    latency(
        "add, sub",
        [Some("add.f32"), None],
        [18.0, 9.0, 6.0, 6.0],
        None,
    ),
    latency("mul", [Some("mul.f32"), None], [18.0, 9.0, 6.0, 6.0], None),
    latency(
        "max, min",
        [Some("min.f32"), None],
        [18.0, 9.0, 6.0, 12.0],
        None,
    ),
    latency("fma", [Some("fma.f32"), None], [20.0, 9.0, 6.0, 6.0], None),
    latency(
        "div",
        [Some("div.f32"), Some("div.f32.sfu")],
        [996.0, 520.0, 371.0, 338.0],
        Some([40.0, 18.0, 15.0, 16.0]),
    ),
    latency(
        "__fdividef",
        [None, Some("div.f32.sfu")],
        [89.0, 42.0, 34.0, 34.0],
        Some([40.0, 18.0, 15.0, 15.0]),
    ),
    latency(
        "rcp",
        [Some("rcp.f32"), Some("rcp.f32.sfu")],
        [204.0, 110.0, 87.0, 80.0],
        Some([40.0, 18.0, 15.0, 13.0]),
    ),
    latency(
        "sqrt",
        [Some("sqrt.f32"), Some("sqrt.f32.sfu")],
        [184.0, 101.0, 84.0, 80.0],
        Some([44.0, 18.0, 13.0, 13.0]),
    ),
    latency(
        "sin, cos",
        [Some("sin.f32"), Some("sin.f32.sfu")],
        [40.0, 18.0, 15.0, 15.0],
        Some([40.0, 18.0, 15.0, 15.0]),
    ),
    latency(
        "ex2",
        [Some("exp2.f32"), Some("exp2.f32.sfu")],
        [88.0, 49.0, 40.0, 40.0],
        Some([40.0, 18.0, 15.0, 16.0]),
    ),
    latency(
        "lg2",
        [Some("log2.f32"), Some("log2.f32.sfu")],
        [70.0, 40.0, 34.0, 40.0],
        Some([22.0, 9.0, 13.0, 13.0]),
    ),
    latency(
        "pow",
        [Some("pow.f32"), Some("pow.f32.sfu")],
        [110.0, 64.0, 58.0, 50.0],
        Some([58.0, 27.0, 21.0, 20.0]),
    ),
];

/// Surineni 2017, table V.
pub const DOUBLE_LATENCY: [Latency; 11] = [
    latency(
        "add, sub",
        [Some("add.f64"), None],
        [22.0, 10.0, 48.0, 48.0],
        None,
    ),
    latency(
        "mul",
        [Some("mul.f64"), None],
        [22.0, 10.0, 48.0, 48.0],
        None,
    ),
    latency(
        "max, min",
        [Some("min.f64"), None],
        [22.0, 10.0, 48.0, 96.0],
        None,
    ),
    latency(
        "fma",
        [Some("fma.f64"), None],
        [22.0, 10.0, 52.0, 53.0],
        None,
    ),
    latency(
        "div",
        [Some("div.f64"), None],
        [1152.0, 688.0, 968.0, 1114.0],
        None,
    ),
    latency(
        "rcp",
        [Some("rcp.f64"), None],
        [189.0, 126.0, 331.0, 338.0],
        None,
    ),
    latency(
        "sqrt",
        [Some("sqrt.f64"), None],
        [241.0, 193.0, 400.0, 397.0],
        None,
    ),
    latency(
        "sin, cos",
        [Some("sin.f64"), None],
        [573.0, 356.0, 850.0, 835.0],
        None,
    ),
    latency(
        "ex2",
        [Some("exp2.f64"), None],
        [784.0, 426.0, 881.0, 997.0],
        None,
    ),
    latency(
        "lg2",
        [Some("log2.f64"), None],
        [1151.0, 700.0, 1327.0, 1325.0],
        None,
    ),
    latency(
        "pow",
        [Some("pow.f64"), None],
        [2488.0, 1714.0, 3675.0, 3892.0],
        None,
    ),
];

/// Surineni 2017, table VIII: range, type, mean and standard deviation of the number of terms.
pub const TAYLOR_TERMS: [(&str, &str, f64, f64); 6] = [
    ("0..0.1", "float2", 10.6, 1.3),
    ("0..0.1", "double2", 10.6, 1.3),
    ("0..1", "float2", 17.5, 3.1),
    ("0..1", "double2", 17.5, 3.1),
    ("0..100", "float2", 14.7, 13.1),
    ("0..100", "double2", 46.8, 50.0),
];

/// Surineni 2017, table IX: additions on a Maxwell Titan X, in floating-point operations a second.
pub const MIXED_THROUGHPUT: [(&str, f64); 5] = [
    ("theoretical single", 6.6e12),
    ("theoretical double", 206e9),
    ("single", 2.4e12),
    ("double", 93e9),
    ("mixed", 186e9),
];

/// A row of Li et al. 2016, tables 4 and 5.
#[derive(Debug, Clone, Copy)]
pub struct SfuRow {
    /// The function, by a profile's name.
    pub function: &'static str,
    /// `f32` or `f64`.
    pub format: &'static str,
    /// GTX 570 (Fermi), GTX Titan Z (Kepler), GTX 750 Ti (Maxwell).
    pub generation: &'static str,
    /// The special-function unit's version?
    pub sfu: bool,
    /// Cycles.
    pub latency: f64,
    /// Mean relative error.
    pub error: f64,
    /// Registers.
    pub registers: u32,
    /// Operations of the special-function, single and double units.
    pub units: [u32; 3],
    /// Throughput of one multiprocessor in 10^9 a second.
    pub gops: f64,
}

/// A row: which function, format, generation and whether it is the special-function unit's; then the figures.
const fn row(
    (function, format, generation, sfu): (&'static str, &'static str, &'static str, bool),
    latency: f64,
    error: f64,
    registers: u32,
    units: [u32; 3],
    gops: f64,
) -> SfuRow {
    SfuRow {
        function,
        format,
        generation,
        sfu,
        latency,
        error,
        registers,
        units,
        gops,
    }
}

/// Li et al. 2016, tables 4 (single precision) and 5 (double).
#[rustfmt::skip]
pub const SFU_FUNCTIONS: [SfuRow; 78] = [
    row(("div", "f32", "Fermi", false), 2335.0, 0.0, 12, [1, 16, 0], 1.7),
    row(("div", "f32", "Fermi", true), 2068.0, 2.3433e-8, 10, [1, 1, 0], 5.7),
    row(("div", "f32", "Kepler", false), 1098.0, 0.0, 13, [1, 14, 0], 6.0),
    row(("div", "f32", "Kepler", true), 981.0, 2.3433e-8, 10, [1, 1, 0], 24.0),
    row(("div", "f32", "Maxwell", false), 236.0, 0.0, 14, [1, 14, 0], 4.1),
    row(("div", "f32", "Maxwell", true), 36.0, 2.3433e-8, 10, [1, 1, 0], 25.3),
    row(("rcp", "f32", "Fermi", false), 1692.0, 0.0, 13, [1, 4, 0], 2.8),
    row(("rcp", "f32", "Fermi", true), 1651.0, 1.1266e-8, 8, [1, 0, 0], 5.7),
    row(("rcp", "f32", "Kepler", false), 715.0, 0.0, 14, [1, 4, 0], 7.9),
    row(("rcp", "f32", "Kepler", true), 597.0, 1.1266e-8, 8, [1, 0, 0], 23.2),
    row(("rcp", "f32", "Maxwell", false), 219.0, 0.0, 14, [1, 4, 0], 4.7),
    row(("rcp", "f32", "Maxwell", true), 21.0, 1.1266e-8, 10, [1, 0, 0], 26.6),
    row(("sqrt", "f32", "Fermi", false), 1708.0, 0.0, 10, [1, 6, 0], 2.6),
    row(("sqrt", "f32", "Fermi", true), 1651.0, 3.0763e-8, 8, [2, 0, 0], 2.9),
    row(("sqrt", "f32", "Kepler", false), 711.0, 0.0, 10, [1, 6, 0], 6.4),
    row(("sqrt", "f32", "Kepler", true), 613.0, 3.0763e-8, 8, [2, 0, 0], 12.9),
    row(("sqrt", "f32", "Maxwell", false), 226.0, 0.0, 10, [1, 6, 0], 5.0),
    row(("sqrt", "f32", "Maxwell", true), 47.0, 3.0763e-8, 10, [2, 0, 0], 14.8),
    row(("rsqrt", "f32", "Fermi", false), 1728.0, 0.0, 13, [2, 10, 0], 1.4),
    row(("rsqrt", "f32", "Fermi", true), 1651.0, 2.7610e-8, 8, [1, 0, 0], 5.7),
    row(("rsqrt", "f32", "Kepler", false), 864.0, 0.0, 14, [2, 10, 0], 3.8),
    row(("rsqrt", "f32", "Kepler", true), 597.0, 2.7610e-8, 8, [1, 0, 0], 23.2),
    row(("rsqrt", "f32", "Maxwell", false), 464.0, 0.0, 14, [2, 10, 0], 2.5),
    row(("rsqrt", "f32", "Maxwell", true), 21.0, 2.7610e-8, 10, [1, 0, 0], 27.1),
    row(("pow", "f32", "Fermi", false), 6073.0, 3.0822e-8, 14, [3, 59, 0], 8.0),
    row(("pow", "f32", "Fermi", true), 2110.0, 8.0587e-8, 10, [2, 1, 0], 43.1),
    row(("pow", "f32", "Kepler", false), 1496.0, 3.0822e-8, 15, [3, 60, 0], 9.1),
    row(("pow", "f32", "Kepler", true), 997.0, 8.0587e-8, 10, [2, 1, 0], 156.7),
    row(("pow", "f32", "Maxwell", false), 1029.0, 3.0822e-8, 16, [3, 60, 0], 3.8),
    row(("pow", "f32", "Maxwell", true), 56.0, 8.0587e-8, 10, [2, 1, 0], 65.8),
    row(("exp", "f32", "Fermi", false), 1681.0, 2.3937e-8, 10, [2, 7, 0], 1.9),
    row(("exp", "f32", "Fermi", true), 1655.0, 4.0603e-8, 8, [1, 1, 0], 5.7),
    row(("exp", "f32", "Kepler", false), 700.0, 2.3937e-8, 8, [2, 7, 0], 4.5),
    row(("exp", "f32", "Kepler", true), 612.0, 4.0603e-8, 8, [1, 1, 0], 23.4),
    row(("exp", "f32", "Maxwell", false), 160.0, 2.3937e-8, 8, [2, 7, 0], 4.7),
    row(("exp", "f32", "Maxwell", true), 31.0, 4.0603e-8, 10, [1, 1, 0], 20.6),
    row(("log", "f32", "Fermi", false), 1779.0, 4.6541e-9, 11, [1, 19, 0], 1.2),
    row(("log", "f32", "Fermi", true), 1649.0, 6.3260e-7, 8, [1, 1, 0], 5.7),
    row(("log", "f32", "Kepler", false), 834.0, 4.6541e-9, 11, [1, 19, 0], 2.1),
    row(("log", "f32", "Kepler", true), 608.0, 6.3260e-7, 8, [1, 1, 0], 22.9),
    row(("log", "f32", "Maxwell", false), 298.0, 4.6541e-9, 11, [1, 20, 0], 1.8),
    row(("log", "f32", "Maxwell", true), 38.0, 6.3260e-7, 10, [1, 1, 0], 26.3),
    row(("sin", "f32", "Fermi", false), 1727.0, 8.7079e-9, 13, [0, 17, 0], 1.1),
    row(("sin", "f32", "Fermi", true), 1660.0, 9.6523e-7, 8, [1, 0, 0], 5.7),
    row(("sin", "f32", "Kepler", false), 804.0, 8.7079e-9, 13, [0, 17, 0], 2.9),
    row(("sin", "f32", "Kepler", true), 602.0, 9.6523e-7, 8, [1, 0, 0], 25.0),
    row(("sin", "f32", "Maxwell", false), 222.0, 8.7079e-9, 17, [0, 17, 0], 2.3),
    row(("sin", "f32", "Maxwell", true), 25.0, 9.6523e-7, 10, [1, 0, 0], 22.5),
    row(("cos", "f32", "Fermi", false), 1740.0, 1.4455e-8, 13, [0, 18, 0], 1.0),
    row(("cos", "f32", "Fermi", true), 1646.0, 1.1584e-6, 8, [1, 0, 0], 5.7),
    row(("cos", "f32", "Kepler", false), 824.0, 1.4455e-8, 13, [0, 18, 0], 2.9),
    row(("cos", "f32", "Kepler", true), 600.0, 1.1584e-6, 8, [1, 0, 0], 25.0),
    row(("cos", "f32", "Maxwell", false), 229.0, 1.4455e-8, 17, [0, 18, 0], 2.1),
    row(("cos", "f32", "Maxwell", true), 25.0, 1.1584e-6, 10, [1, 0, 0], 22.5),
    row(("div", "f64", "Fermi", false), 1889.0, 0.0, 19, [1, 0, 15], 7.8),
    row(("div", "f64", "Fermi", true), 1204.0, 2.5561e-7, 10, [1, 0, 1], 28.8),
    row(("div", "f64", "Kepler", false), 1236.0, 0.0, 20, [1, 0, 15], 8.4),
    row(("div", "f64", "Kepler", true), 1104.0, 2.5561e-7, 10, [1, 0, 1], 30.4),
    row(("div", "f64", "Maxwell", false), 1793.0, 0.0, 20, [1, 0, 15], 2.2),
    row(("div", "f64", "Maxwell", true), 2057.0, 2.5561e-7, 10, [1, 0, 1], 7.9),
    row(("rcp", "f64", "Fermi", false), 2485.0, 0.0, 16, [1, 0, 8], 10.5),
    row(("rcp", "f64", "Fermi", true), 2166.0, 2.5545e-7, 8, [1, 0, 0], 42.3),
    row(("rcp", "f64", "Kepler", false), 774.0, 0.0, 14, [1, 0, 10], 13.0),
    row(("rcp", "f64", "Kepler", true), 902.0, 2.5545e-7, 8, [1, 0, 0], 44.9),
    row(("rcp", "f64", "Maxwell", false), 1761.0, 0.0, 13, [1, 0, 10], 3.4),
    row(("rcp", "f64", "Maxwell", true), 1346.0, 2.5545e-7, 9, [1, 0, 0], 11.7),
    row(("sqrt", "f64", "Fermi", false), 2319.0, 0.0, 13, [1, 0, 13], 8.5),
    row(("sqrt", "f64", "Fermi", true), 2171.0, 2.8951e-7, 10, [2, 0, 0], 42.1),
    row(("sqrt", "f64", "Kepler", false), 949.0, 0.0, 14, [1, 0, 13], 9.1),
    row(("sqrt", "f64", "Kepler", true), 921.0, 2.8951e-7, 8, [2, 0, 0], 44.3),
    row(("sqrt", "f64", "Maxwell", false), 1947.0, 0.0, 14, [1, 0, 13], 2.4),
    row(("sqrt", "f64", "Maxwell", true), 1355.0, 2.8951e-7, 9, [2, 0, 0], 11.7),
    row(("rsqrt", "f64", "Fermi", false), 2551.0, 0.0, 16, [2, 0, 21], 5.3),
    row(("rsqrt", "f64", "Fermi", true), 2165.0, 2.2110e-7, 10, [1, 0, 0], 42.4),
    row(("rsqrt", "f64", "Kepler", false), 1296.0, 0.0, 14, [2, 0, 23], 7.0),
    row(("rsqrt", "f64", "Kepler", true), 897.0, 2.2110e-7, 8, [1, 0, 0], 44.9),
    row(("rsqrt", "f64", "Maxwell", false), 3317.0, 0.0, 14, [2, 0, 23], 1.6),
    row(("rsqrt", "f64", "Maxwell", true), 1340.0, 2.2110e-7, 9, [1, 0, 0], 11.7),
];
