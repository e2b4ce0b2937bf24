//! The kinds of vectors that a processor has.

/// Instructions that the test is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    /// Any x86-64.
    Scalar,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512.
    Avx512,
}

impl Isa {
    /// Those that this processor has, the fastest last.
    pub fn all() -> Vec<Isa> {
        let mut all = vec![Isa::Scalar];
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            all.push(Isa::Avx2);
        }
        if is_x86_feature_detected!("avx512f") {
            all.push(Isa::Avx512);
        }
        all
    }
    /// The fastest that this processor has.
    pub fn best() -> Isa {
        Isa::all().pop().unwrap_or(Isa::Scalar)
    }
    /// Name.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }
}
