//! The functions of NVIDIA's libraries that Kerf's runtime computes on the CPU; the others run on a GPU alone.

/// Patterns of names: of letters in brackets there is one. Functions of cuBLAS with numbers as arguments have a second form for 64
/// bits (`_64`).
pub const ON_CPU: &[&str] = &[
    "cublasCreate_v2",
    "cublasDestroy_v2",
    "cublas[SG]etStream_v2",
    "cublas[SG]etPointerMode_v2",
    "cublas[SG]etMathMode",
    "cublas[SG]etAtomicsMode",
    "cublas[SG]etSmCountTarget",
    "cublasSetWorkspace_v2",
    "cublasGetVersion_v2",
    "cublasGetProperty",
    "cublasGetStatusName",
    "cublasGetStatusString",
    "cublas[SG]etVector",
    "cublas[SG]etVectorAsync",
    "cublas[SG]etMatrix",
    "cublas[SG]etMatrixAsync",
    "cublas[SDCZ]axpy_v2",
    "cublas[SDCZ]copy_v2",
    "cublas[SDCZ]swap_v2",
    "cublas[SDCZ]scal_v2",
    "cublas[SD]dot_v2",
    "cublas[CZ]dotu_v2",
    "cublas[CZ]dotc_v2",
    "cublas[SD]nrm2_v2",
    "cublas[SD]asum_v2",
    "cublas[SD]rot_v2",
    "cublasScnrm2_v2",
    "cublasDznrm2_v2",
    "cublasScasum_v2",
    "cublasDzasum_v2",
    "cublasCsscal_v2",
    "cublasZdscal_v2",
    "cublasI[sdcz]amax_v2",
    "cublasI[sdcz]amin_v2",
    "cublas[SDCZ]gemv_v2",
    "cublas[SD]ger_v2",
    "cublas[CZ]geru_v2",
    "cublas[CZ]gerc_v2",
    "cublas[SDCZ]syr_v2",
    "cublas[SDCZ]symv_v2",
    "cublas[CZ]hemv_v2",
    "cublas[SDCZ]trmv_v2",
    "cublas[SDCZ]trsv_v2",
    "cublas[SDCZ]gemm_v2",
    "cublas[SDCZ]gemmStridedBatched",
    "cublas[SDCZ]gemmBatched",
    "cublas[SDCZ]symm_v2",
    "cublas[CZ]hemm_v2",
    "cublas[SDCZ]syrk_v2",
    "cublas[SDCZ]trsm_v2",
    "cublas[SDCZ]trmm_v2",
    "cublas[SDCZ]geam",
    "cublas[SDCZ]dgmm",
    "cublasGemmEx",
    "cublasGemmStridedBatchedEx",
    "cublasGemmBatchedEx",
    "cublasHgemm",
    "cublasHgemmStridedBatched",
    "cublasHgemmBatched",
    "cublasDotEx",
    "cublasDotcEx",
    "curandCreateGenerator",
    "curandCreateGeneratorHost",
    "curandDestroyGenerator",
    "curandSetStream",
    "curandSetPseudoRandomGeneratorSeed",
    "curandSetGeneratorOffset",
    "curandSetGeneratorOrdering",
    "curandGenerate",
    "curandGenerateUniform",
    "curandGenerateUniformDouble",
    "curandGetVersion",
    "curandGetProperty",
];

/// The names that a pattern stands for.
pub fn names(pattern: &str) -> Vec<String> {
    match pattern.split_once('[') {
        None => vec![pattern.to_owned()],
        Some((before, rest)) => {
            let (letters, after) = rest.split_once(']').unwrap_or((rest, ""));
            let name = |c: char| format!("{before}{c}{after}");
            letters.chars().map(name).collect()
        }
    }
}

/// Is a function one of those?
pub fn is_on_cpu(function: &str) -> bool {
    let plain = match function.starts_with("cublas") {
        true => function.strip_suffix("_64").unwrap_or(function),
        false => function,
    };
    ON_CPU.iter().any(|p| names(p).iter().any(|n| n == plain))
}
