// Error statistics of one operation over segments of arguments, one block a segment.
//
// A block writes one record; the host adds the records in order, so that results repeat whatever
// the order of blocks. Layouts are those of src/accuracy/records.rs.
#pragma once
#include "device.h"

static const u32 THREADS = 128;
static const int BOUNDS = 3;

// Consecutive arguments, all of one binade (of the first argument).
struct Segment {
    u64 start;
    u32 count;
    u32 bounds; // bit i: the documented bound i holds for these arguments
    u32 mode;   // how generated arguments are made
    u32 p0, p1, p2;
};

enum Measure { STEPS = 0, ABSOLUTE = 1, RELATIVE = 2, STEPS_BEYOND_EXPONENT = 3 };

struct Bound {
    double limit;
    u32 measure;
    u32 unused;
};

// The largest error and where it was; of equal ones, the first.
struct Peak {
    double value;
    u64 index;
    DEVICE void see(double v, u64 i) {
        if (v > value || (v == value && i < index)) {
            value = v;
            index = i;
        }
    }
};

struct Against {
    Peak worst;
    u64 violations;
};

struct Record {
    u64 compared;   // finite results, judged here
    u64 special;    // NaN or infinity, as it should be
    u64 mismatched; // NaN or infinity against a number, or flushed to something else
    u64 mismatch;   // the first of them
    u64 flushed;
    u64 misrounded;
    u64 unsettled; // doubtful, and no room left on the list
    u64 normal;    // results that a relative error is counted for
    Peak ulp;
    Peak steps;
    double absolute, relative;
    double sum_ulp, sum_steps, sum_relative;
    Against bounds[BOUNDS];
};

// An argument that the host has to judge.
struct Doubt {
    u64 index;
    u64 got;
    u32 segment;
    u32 arguments[3];
};

static const u64 NOWHERE = ~0ull;

DEVICE void clear(Record &r) {
    r.compared = r.special = r.mismatched = r.flushed = r.misrounded = r.unsettled = r.normal = 0;
    r.mismatch = NOWHERE;
    r.ulp = r.steps = Peak{-1.0, NOWHERE};
    r.absolute = r.relative = r.sum_ulp = r.sum_steps = r.sum_relative = 0.0;
    for (int b = 0; b < BOUNDS; b++) r.bounds[b] = Against{{-1.0, NOWHERE}, 0};
}

DEVICE void add(Record &r, const Record &o) {
    r.compared += o.compared;
    r.special += o.special;
    r.mismatched += o.mismatched;
    r.mismatch = o.mismatch < r.mismatch ? o.mismatch : r.mismatch;
    r.flushed += o.flushed;
    r.misrounded += o.misrounded;
    r.unsettled += o.unsettled;
    r.normal += o.normal;
    r.ulp.see(o.ulp.value, o.ulp.index);
    r.steps.see(o.steps.value, o.steps.index);
    r.absolute = o.absolute > r.absolute ? o.absolute : r.absolute;
    r.relative = o.relative > r.relative ? o.relative : r.relative;
    r.sum_ulp += o.sum_ulp;
    r.sum_steps += o.sum_steps;
    r.sum_relative += o.sum_relative;
    for (int b = 0; b < BOUNDS; b++) {
        r.bounds[b].worst.see(o.bounds[b].worst.value, o.bounds[b].worst.index);
        r.bounds[b].violations += o.bounds[b].violations;
    }
}

DEVICE void mismatched(Record &r, const Segment &s, u64 index) {
    r.mismatched++;
    r.mismatch = index < r.mismatch ? index : r.mismatch;
    // A number where none should be, or none where one should be, breaks every bound.
    for (int b = 0; b < BOUNDS; b++)
        if (s.bounds >> b & 1) r.bounds[b].violations++;
}

// Judges one result. Gives false where the reference is not good enough to decide.
template <class F>
DEVICE bool judge(Record &r, const Segment &s, const Bound *bounds, u64 index, double first,
                  double got, double exact, bool sure, bool ftz) {
    if (is_nan(exact)) {
        if (is_nan(got))
            r.special++;
        else
            mismatched(r, s, index);
        return true;
    }
    bool doubt = false;
    double want = is_infinite(exact) ? exact : F::round(exact, &doubt);
    if (doubt && !sure) return false;
    if (is_infinite(want) && got == want) {
        r.special++;
        return true;
    }
    if (is_nan(got) || is_infinite(got) || is_infinite(want)) {
        mismatched(r, s, index);
        return true;
    }
    if (ftz && F::subnormal(exact)) {
        r.flushed++;
        if (__builtin_fabs(got) > F::smallest_normal()) mismatched(r, s, index);
        return true;
    }
    double absolute = __builtin_fabs(got - exact);
    double ulp = absolute * power_of_two(-F::unit(exact));
    i64 apart = F::ordinal(got) - F::ordinal(want);
    double steps = (double)(apart < 0 ? -apart : apart);
    bool same_zero = __builtin_signbit(got) == __builtin_signbit(want) || got != 0;
    r.compared++;
    r.misrounded += got != want || !same_zero;
    r.ulp.see(ulp, index);
    r.steps.see(steps, index);
    r.absolute = absolute > r.absolute ? absolute : r.absolute;
    r.sum_ulp += ulp;
    r.sum_steps += steps;
    double relative = 0.0;
    if (__builtin_fabs(exact) >= F::smallest_normal()) {
        relative = absolute / __builtin_fabs(exact);
        r.normal++;
        r.relative = relative > r.relative ? relative : r.relative;
        r.sum_relative += relative;
    }
    for (int b = 0; b < BOUNDS; b++) {
        if (!(s.bounds >> b & 1)) continue;
        double error = steps;
        switch (bounds[b].measure) {
        case ABSOLUTE: error = absolute; break;
        case RELATIVE: error = relative; break;
        case STEPS_BEYOND_EXPONENT:
            // __expf: 2 + floor(|1.173 x|)
            error = steps - __builtin_floor(__builtin_fabs(1.173 * first));
            error = error < 0 ? 0 : error;
            break;
        }
        r.bounds[b].worst.see(error, index);
        r.bounds[b].violations += error > bounds[b].limit;
    }
    return true;
}

// The kernel of an operation `Op`:
//   Result                the format of results
//   FTZ                   subnormals are flushed
//   SURE                  the reference decides every rounding
//   arguments(s, i, a)    bits of the arguments number i
//   run(a)                bits of the device's result
//   first(a)              the first argument
//   exact(a)              the reference
//   subnormal(a)          has a subnormal argument
//   flush(a)              the same arguments flushed
template <class Op>
DEVICE void measure(const Segment *segments, Record *records, const Bound *bounds, Doubt *list,
                    u32 *filled, u32 capacity, u32 list_all) {
    typedef typename Op::Result F;
    static SHARED Record together[THREADS];
    u32 thread = __nvvm_read_ptx_sreg_tid_x();
    u32 block = __nvvm_read_ptx_sreg_ctaid_x();
    Segment s = segments[block];
    Record r;
    clear(r);
#pragma unroll 1
    for (u32 i = thread; i < s.count; i += THREADS) {
        u64 index = s.start + i;
        u32 a[3] = {0, 0, 0};
        Op::arguments(s, index, a);
        u64 bits = Op::run(a);
        double got = F::widen(F::from_bits(bits));
        bool done = false;
        if (Op::FTZ && Op::subnormal(a)) {
            u32 b[3] = {a[0], a[1], a[2]};
            Op::flush(b);
            u64 flushed = Op::run(b);
            double expected = F::widen(F::from_bits(flushed));
            r.flushed++;
            if (flushed != bits && !(is_nan(got) && is_nan(expected))) mismatched(r, s, index);
            done = true;
        }
        if (!done)
            done = judge<F>(r, s, bounds, index, Op::first(a), got, Op::exact(a), Op::SURE, Op::FTZ);
        if (!done || list_all) {
            u32 at = (u32)__nvvm_atom_add_gen_i((int *)filled, 1);
            if (at < capacity)
                list[at] = Doubt{index, bits, block, {a[0], a[1], a[2]}};
            else
                r.unsettled++;
        }
    }
    together[thread] = r;
    __syncthreads();
#pragma unroll 1
    for (u32 half = THREADS / 2; half > 0; half /= 2) {
        if (thread < half) add(together[thread], together[thread + half]);
        __syncthreads();
    }
    if (thread == 0) records[block] = together[0];
}

#define MEASURE(NAME)                                                                               \
    KERNEL void accuracy_##NAME(const Segment *segments, Record *records, const Bound *bounds,      \
                                Doubt *list, u32 *filled, u32 capacity, u32 list_all) {             \
        measure<op_##NAME>(segments, records, bounds, list, filled, capacity, list_all);            \
    }
