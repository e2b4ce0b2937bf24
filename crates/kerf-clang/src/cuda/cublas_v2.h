// cuBLAS for programs on machines without NVIDIA's header: the functions that Kerf runs on the CPU, and the types they need.
#ifndef KERF_CUBLAS_V2_H
#define KERF_CUBLAS_V2_H
#include <stddef.h>
#include <stdint.h>
#include <cuComplex.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <library_types.h>
#define CUBLASAPI
#define CUBLASWINAPI
#define CUBLAS_VER_MAJOR 12
#define CUBLAS_VER_MINOR 9
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VERSION 120900
#ifdef __cplusplus
extern "C" {
#endif
typedef enum {
  CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1, CUBLAS_STATUS_ALLOC_FAILED = 3, CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8, CUBLAS_STATUS_MAPPING_ERROR = 11, CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14, CUBLAS_STATUS_NOT_SUPPORTED = 15, CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;
typedef cublasStatus_t cublasStatus;
typedef enum { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1, CUBLAS_FILL_MODE_FULL = 2 } cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum {
  CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2, CUBLAS_OP_HERMITAN = 2, CUBLAS_OP_CONJG = 3
} cublasOperation_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;
typedef enum { CUBLAS_GEMM_DFALT = -1, CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 } cublasGemmAlgo_t;
typedef enum {
  CUBLAS_DEFAULT_MATH = 0, CUBLAS_TENSOR_OP_MATH = 1, CUBLAS_PEDANTIC_MATH = 2, CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;
typedef enum {
  CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_16F_PEDANTIC = 65, CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_32F_FAST_16F = 74, CUBLAS_COMPUTE_32F_FAST_16BF = 75, CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
  CUBLAS_COMPUTE_64F = 70, CUBLAS_COMPUTE_64F_PEDANTIC = 71, CUBLAS_COMPUTE_32I = 72, CUBLAS_COMPUTE_32I_PEDANTIC = 73
} cublasComputeType_t;
typedef cudaDataType cublasDataType_t;
typedef struct cublasContext *cublasHandle_t;

cublasStatus_t cublasCreate_v2(cublasHandle_t *);
cublasStatus_t cublasDestroy_v2(cublasHandle_t);
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int *);
cublasStatus_t cublasGetProperty(libraryPropertyType, int *);
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t);
cublasStatus_t cublasGetStream_v2(cublasHandle_t, cudaStream_t *);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void *, size_t);
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t, cublasPointerMode_t);
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t, cublasPointerMode_t *);
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t);
cublasStatus_t cublasGetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t *);
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t);
cublasStatus_t cublasGetMathMode(cublasHandle_t, cublasMath_t *);
cublasStatus_t cublasSetSmCountTarget(cublasHandle_t, int);
cublasStatus_t cublasGetSmCountTarget(cublasHandle_t, int *);
const char *cublasGetStatusName(cublasStatus_t);
const char *cublasGetStatusString(cublasStatus_t);
#define KERF_MOVE(name) \
  cublasStatus_t cublas##name##Vector(int n, int bytes, const void *x, int incx, void *y, int incy); \
  cublasStatus_t cublas##name##VectorAsync(int n, int bytes, const void *x, int incx, void *y, int incy, cudaStream_t); \
  cublasStatus_t cublas##name##Matrix(int m, int n, int bytes, const void *A, int lda, void *B, int ldb); \
  cublasStatus_t cublas##name##MatrixAsync(int m, int n, int bytes, const void *A, int lda, void *B, int ldb, cudaStream_t);
KERF_MOVE(Set)
KERF_MOVE(Get)
#undef KERF_MOVE

#define KERF_H cublasHandle_t handle
#define KERF_X(T) const T *x, int incx
#define KERF_Y(T) T *y, int incy
#define KERF_SHAPE cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k
#define KERF_FORM cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, int m, int n
#define KERF_TYPE(L, l, T) \
  cublasStatus_t cublas##L##axpy_v2(KERF_H, int n, const T *alpha, KERF_X(T), KERF_Y(T)); \
  cublasStatus_t cublas##L##copy_v2(KERF_H, int n, KERF_X(T), KERF_Y(T)); \
  cublasStatus_t cublas##L##swap_v2(KERF_H, int n, T *x, int incx, KERF_Y(T)); \
  cublasStatus_t cublas##L##scal_v2(KERF_H, int n, const T *alpha, T *x, int incx); \
  cublasStatus_t cublasI##l##amax_v2(KERF_H, int n, KERF_X(T), int *result); \
  cublasStatus_t cublasI##l##amin_v2(KERF_H, int n, KERF_X(T), int *result); \
  cublasStatus_t cublas##L##gemv_v2(KERF_H, cublasOperation_t trans, int m, int n, const T *alpha, const T *A, int lda, KERF_X(T), \
                                    const T *beta, KERF_Y(T)); \
  cublasStatus_t cublas##L##syr_v2(KERF_H, cublasFillMode_t uplo, int n, const T *alpha, KERF_X(T), T *A, int lda); \
  cublasStatus_t cublas##L##symv_v2(KERF_H, cublasFillMode_t uplo, int n, const T *alpha, const T *A, int lda, KERF_X(T), \
                                    const T *beta, KERF_Y(T)); \
  cublasStatus_t cublas##L##trmv_v2(KERF_H, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, int n, \
                                    const T *A, int lda, T *x, int incx); \
  cublasStatus_t cublas##L##trsv_v2(KERF_H, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, int n, \
                                    const T *A, int lda, T *x, int incx); \
  KERF_PRODUCTS(L, T, cublas##L##gemm_v2) \
  cublasStatus_t cublas##L##symm_v2(KERF_H, cublasSideMode_t side, cublasFillMode_t uplo, int m, int n, const T *alpha, const T *A, \
                                    int lda, const T *B, int ldb, const T *beta, T *C, int ldc); \
  cublasStatus_t cublas##L##syrk_v2(KERF_H, cublasFillMode_t uplo, cublasOperation_t trans, int n, int k, const T *alpha, const T *A, \
                                    int lda, const T *beta, T *C, int ldc); \
  cublasStatus_t cublas##L##trsm_v2(KERF_H, KERF_FORM, const T *alpha, const T *A, int lda, T *B, int ldb); \
  cublasStatus_t cublas##L##trmm_v2(KERF_H, KERF_FORM, const T *alpha, const T *A, int lda, const T *B, int ldb, T *C, int ldc); \
  cublasStatus_t cublas##L##geam(KERF_H, cublasOperation_t transa, cublasOperation_t transb, int m, int n, const T *alpha, const T *A, \
                                 int lda, const T *beta, const T *B, int ldb, T *C, int ldc); \
  cublasStatus_t cublas##L##dgmm(KERF_H, cublasSideMode_t mode, int m, int n, const T *A, int lda, KERF_X(T), T *C, int ldc);
#define KERF_PRODUCTS(L, T, GEMM) \
  cublasStatus_t GEMM(KERF_H, KERF_SHAPE, const T *alpha, const T *A, int lda, const T *B, int ldb, const T *beta, T *C, int ldc); \
  cublasStatus_t cublas##L##gemmStridedBatched(KERF_H, KERF_SHAPE, const T *alpha, const T *A, int lda, long long strideA, \
                                               const T *B, int ldb, long long strideB, const T *beta, T *C, int ldc, \
                                               long long strideC, int batchCount); \
  cublasStatus_t cublas##L##gemmBatched(KERF_H, KERF_SHAPE, const T *alpha, const T *const Aarray[], int lda, const T *const Barray[], \
                                        int ldb, const T *beta, T *const Carray[], int ldc, int batchCount);
#define KERF_REAL(L, T) \
  cublasStatus_t cublas##L##dot_v2(KERF_H, int n, KERF_X(T), const T *y, int incy, T *result); \
  cublasStatus_t cublas##L##nrm2_v2(KERF_H, int n, KERF_X(T), T *result); \
  cublasStatus_t cublas##L##asum_v2(KERF_H, int n, KERF_X(T), T *result); \
  cublasStatus_t cublas##L##rot_v2(KERF_H, int n, T *x, int incx, KERF_Y(T), const T *c, const T *s); \
  cublasStatus_t cublas##L##ger_v2(KERF_H, int m, int n, const T *alpha, KERF_X(T), const T *y, int incy, T *A, int lda);
#define KERF_COMPLEX(L, T, R, NRM2, ASUM, SCAL) \
  cublasStatus_t cublas##L##dotu_v2(KERF_H, int n, KERF_X(T), const T *y, int incy, T *result); \
  cublasStatus_t cublas##L##dotc_v2(KERF_H, int n, KERF_X(T), const T *y, int incy, T *result); \
  cublasStatus_t NRM2(KERF_H, int n, KERF_X(T), R *result); \
  cublasStatus_t ASUM(KERF_H, int n, KERF_X(T), R *result); \
  cublasStatus_t SCAL(KERF_H, int n, const R *alpha, T *x, int incx); \
  cublasStatus_t cublas##L##geru_v2(KERF_H, int m, int n, const T *alpha, KERF_X(T), const T *y, int incy, T *A, int lda); \
  cublasStatus_t cublas##L##gerc_v2(KERF_H, int m, int n, const T *alpha, KERF_X(T), const T *y, int incy, T *A, int lda); \
  cublasStatus_t cublas##L##hemv_v2(KERF_H, cublasFillMode_t uplo, int n, const T *alpha, const T *A, int lda, KERF_X(T), \
                                    const T *beta, KERF_Y(T)); \
  cublasStatus_t cublas##L##hemm_v2(KERF_H, cublasSideMode_t side, cublasFillMode_t uplo, int m, int n, const T *alpha, const T *A, \
                                    int lda, const T *B, int ldb, const T *beta, T *C, int ldc);
KERF_TYPE(S, s, float)
KERF_TYPE(D, d, double)
KERF_TYPE(C, c, cuComplex)
KERF_TYPE(Z, z, cuDoubleComplex)
KERF_REAL(S, float)
KERF_REAL(D, double)
KERF_COMPLEX(C, cuComplex, float, cublasScnrm2_v2, cublasScasum_v2, cublasCsscal_v2)
KERF_COMPLEX(Z, cuDoubleComplex, double, cublasDznrm2_v2, cublasDzasum_v2, cublasZdscal_v2)
KERF_PRODUCTS(H, __half, cublasHgemm)
cublasStatus_t cublasGemmEx(KERF_H, KERF_SHAPE, const void *alpha, const void *A, cudaDataType Atype, int lda, const void *B,
                            cudaDataType Btype, int ldb, const void *beta, void *C, cudaDataType Ctype, int ldc,
                            cublasComputeType_t computeType, cublasGemmAlgo_t algo);
cublasStatus_t cublasGemmStridedBatchedEx(KERF_H, KERF_SHAPE, const void *alpha, const void *A, cudaDataType Atype, int lda,
                                          long long strideA, const void *B, cudaDataType Btype, int ldb, long long strideB,
                                          const void *beta, void *C, cudaDataType Ctype, int ldc, long long strideC, int batchCount,
                                          cublasComputeType_t computeType, cublasGemmAlgo_t algo);
cublasStatus_t cublasGemmBatchedEx(KERF_H, KERF_SHAPE, const void *alpha, const void *const Aarray[], cudaDataType Atype, int lda,
                                   const void *const Barray[], cudaDataType Btype, int ldb, const void *beta, void *const Carray[],
                                   cudaDataType Ctype, int ldc, int batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo);
cublasStatus_t cublasDotEx(KERF_H, int n, const void *x, cudaDataType xType, int incx, const void *y, cudaDataType yType, int incy,
                           void *result, cudaDataType resultType, cudaDataType executionType);
cublasStatus_t cublasDotcEx(KERF_H, int n, const void *x, cudaDataType xType, int incx, const void *y, cudaDataType yType, int incy,
                            void *result, cudaDataType resultType, cudaDataType executionType);
#undef KERF_TYPE
#undef KERF_PRODUCTS
#undef KERF_REAL
#undef KERF_COMPLEX
#undef KERF_H
#undef KERF_X
#undef KERF_Y
#undef KERF_SHAPE
#undef KERF_FORM
#ifdef __cplusplus
}
#endif

#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasSetStream cublasSetStream_v2
#define cublasGetStream cublasGetStream_v2
#define cublasSetPointerMode cublasSetPointerMode_v2
#define cublasGetPointerMode cublasGetPointerMode_v2
#define cublasSetWorkspace cublasSetWorkspace_v2
#define cublasGetVersion cublasGetVersion_v2
#define cublasSaxpy cublasSaxpy_v2
#define cublasDaxpy cublasDaxpy_v2
#define cublasCaxpy cublasCaxpy_v2
#define cublasZaxpy cublasZaxpy_v2
#define cublasScopy cublasScopy_v2
#define cublasDcopy cublasDcopy_v2
#define cublasCcopy cublasCcopy_v2
#define cublasZcopy cublasZcopy_v2
#define cublasSswap cublasSswap_v2
#define cublasDswap cublasDswap_v2
#define cublasCswap cublasCswap_v2
#define cublasZswap cublasZswap_v2
#define cublasSscal cublasSscal_v2
#define cublasDscal cublasDscal_v2
#define cublasCscal cublasCscal_v2
#define cublasZscal cublasZscal_v2
#define cublasSdot cublasSdot_v2
#define cublasDdot cublasDdot_v2
#define cublasCdotu cublasCdotu_v2
#define cublasZdotu cublasZdotu_v2
#define cublasCdotc cublasCdotc_v2
#define cublasZdotc cublasZdotc_v2
#define cublasSnrm2 cublasSnrm2_v2
#define cublasDnrm2 cublasDnrm2_v2
#define cublasSasum cublasSasum_v2
#define cublasDasum cublasDasum_v2
#define cublasSrot cublasSrot_v2
#define cublasDrot cublasDrot_v2
#define cublasScnrm2 cublasScnrm2_v2
#define cublasDznrm2 cublasDznrm2_v2
#define cublasScasum cublasScasum_v2
#define cublasDzasum cublasDzasum_v2
#define cublasCsscal cublasCsscal_v2
#define cublasZdscal cublasZdscal_v2
#define cublasIsamax cublasIsamax_v2
#define cublasIdamax cublasIdamax_v2
#define cublasIcamax cublasIcamax_v2
#define cublasIzamax cublasIzamax_v2
#define cublasIsamin cublasIsamin_v2
#define cublasIdamin cublasIdamin_v2
#define cublasIcamin cublasIcamin_v2
#define cublasIzamin cublasIzamin_v2
#define cublasSgemv cublasSgemv_v2
#define cublasDgemv cublasDgemv_v2
#define cublasCgemv cublasCgemv_v2
#define cublasZgemv cublasZgemv_v2
#define cublasSger cublasSger_v2
#define cublasDger cublasDger_v2
#define cublasCgeru cublasCgeru_v2
#define cublasZgeru cublasZgeru_v2
#define cublasCgerc cublasCgerc_v2
#define cublasZgerc cublasZgerc_v2
#define cublasSsyr cublasSsyr_v2
#define cublasDsyr cublasDsyr_v2
#define cublasCsyr cublasCsyr_v2
#define cublasZsyr cublasZsyr_v2
#define cublasSsymv cublasSsymv_v2
#define cublasDsymv cublasDsymv_v2
#define cublasCsymv cublasCsymv_v2
#define cublasZsymv cublasZsymv_v2
#define cublasChemv cublasChemv_v2
#define cublasZhemv cublasZhemv_v2
#define cublasStrmv cublasStrmv_v2
#define cublasDtrmv cublasDtrmv_v2
#define cublasCtrmv cublasCtrmv_v2
#define cublasZtrmv cublasZtrmv_v2
#define cublasStrsv cublasStrsv_v2
#define cublasDtrsv cublasDtrsv_v2
#define cublasCtrsv cublasCtrsv_v2
#define cublasZtrsv cublasZtrsv_v2
#define cublasSgemm cublasSgemm_v2
#define cublasDgemm cublasDgemm_v2
#define cublasCgemm cublasCgemm_v2
#define cublasZgemm cublasZgemm_v2
#define cublasSsymm cublasSsymm_v2
#define cublasDsymm cublasDsymm_v2
#define cublasCsymm cublasCsymm_v2
#define cublasZsymm cublasZsymm_v2
#define cublasChemm cublasChemm_v2
#define cublasZhemm cublasZhemm_v2
#define cublasSsyrk cublasSsyrk_v2
#define cublasDsyrk cublasDsyrk_v2
#define cublasCsyrk cublasCsyrk_v2
#define cublasZsyrk cublasZsyrk_v2
#define cublasStrsm cublasStrsm_v2
#define cublasDtrsm cublasDtrsm_v2
#define cublasCtrsm cublasCtrsm_v2
#define cublasZtrsm cublasZtrsm_v2
#define cublasStrmm cublasStrmm_v2
#define cublasDtrmm cublasDtrmm_v2
#define cublasCtrmm cublasCtrmm_v2
#define cublasZtrmm cublasZtrmm_v2
#endif
