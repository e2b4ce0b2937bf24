// OpenMP with one thread, for host code of applications where LLVM's OpenMP is not installed.
//
// Pragmas are ignored, which is what an OpenMP program does with a team of one.
#pragma once
#include <time.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef int omp_lock_t;
typedef int omp_nest_lock_t;
#define KERF_OMP static inline __attribute__((unused))
KERF_OMP int omp_get_thread_num(void) { return 0; }
KERF_OMP int omp_get_num_threads(void) { return 1; }
KERF_OMP int omp_get_max_threads(void) { return 1; }
KERF_OMP int omp_get_num_procs(void) { return 1; }
KERF_OMP int omp_get_thread_limit(void) { return 1; }
KERF_OMP int omp_in_parallel(void) { return 0; }
KERF_OMP int omp_get_dynamic(void) { return 0; }
KERF_OMP int omp_get_nested(void) { return 0; }
KERF_OMP int omp_get_level(void) { return 0; }
KERF_OMP int omp_get_num_devices(void) { return 0; }
KERF_OMP int omp_get_default_device(void) { return 0; }
KERF_OMP int omp_is_initial_device(void) { return 1; }
KERF_OMP void omp_set_num_threads(int n) { (void)n; }
KERF_OMP void omp_set_dynamic(int n) { (void)n; }
KERF_OMP void omp_set_nested(int n) { (void)n; }
KERF_OMP void omp_set_default_device(int n) { (void)n; }
KERF_OMP void omp_init_lock(omp_lock_t *l) { *l = 0; }
KERF_OMP void omp_destroy_lock(omp_lock_t *l) { (void)l; }
KERF_OMP void omp_set_lock(omp_lock_t *l) { *l = 1; }
KERF_OMP void omp_unset_lock(omp_lock_t *l) { *l = 0; }
KERF_OMP int omp_test_lock(omp_lock_t *l) { return !(*l)++; }
KERF_OMP double omp_get_wtime(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
KERF_OMP double omp_get_wtick(void) { return 1e-9; }
#undef KERF_OMP
#ifdef __cplusplus
}
#endif
