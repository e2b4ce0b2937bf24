// OpenMP with one thread, for host code of applications where LLVM's OpenMP is not installed, and for the
// compilation of device code, in which host code is only looked at.
//
// Pragmas are ignored, which is what an OpenMP program does with a team of one.
#pragma once
#include <time.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef enum omp_sched_t { omp_sched_static = 1, omp_sched_dynamic = 2, omp_sched_guided = 3, omp_sched_auto = 4 } omp_sched_t;
typedef enum omp_proc_bind_t { omp_proc_bind_false = 0, omp_proc_bind_true = 1, omp_proc_bind_master = 2, omp_proc_bind_close = 3, omp_proc_bind_spread = 4 } omp_proc_bind_t;
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
KERF_OMP int omp_get_team_num(void) { return 0; }
KERF_OMP int omp_get_num_teams(void) { return 1; }
KERF_OMP int omp_get_max_active_levels(void) { return 1; }
KERF_OMP int omp_get_active_level(void) { return 0; }
KERF_OMP int omp_get_ancestor_thread_num(int l) { return l ? -1 : 0; }
KERF_OMP int omp_get_team_size(int l) { return l ? -1 : 1; }
KERF_OMP int omp_get_initial_device(void) { return 0; }
KERF_OMP void omp_set_max_active_levels(int n) { (void)n; }
KERF_OMP int omp_get_default_device(void) { return 0; }
KERF_OMP int omp_is_initial_device(void) { return 1; }
KERF_OMP void omp_set_num_threads(int n) { (void)n; }
KERF_OMP void omp_set_dynamic(int n) { (void)n; }
KERF_OMP void omp_set_nested(int n) { (void)n; }
KERF_OMP void omp_set_default_device(int n) { (void)n; }
KERF_OMP void omp_set_schedule(omp_sched_t k, int n) { (void)k; (void)n; }
KERF_OMP void omp_get_schedule(omp_sched_t *k, int *n) { *k = omp_sched_static; *n = 0; }
KERF_OMP omp_proc_bind_t omp_get_proc_bind(void) { return omp_proc_bind_false; }
KERF_OMP void omp_init_nest_lock(omp_nest_lock_t *l) { *l = 0; }
KERF_OMP void omp_destroy_nest_lock(omp_nest_lock_t *l) { (void)l; }
KERF_OMP void omp_set_nest_lock(omp_nest_lock_t *l) { ++*l; }
KERF_OMP void omp_unset_nest_lock(omp_nest_lock_t *l) { --*l; }
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
