// What is known of some of the values. Partial results are combined in the order of the values' indexes, in a tree that
// depends on their number alone.
#pragma once
#include "values.h"

static constexpr u64 NOWHERE = ~0ull;

// The largest error and the first index that has it.
struct Largest {
    double error;
    u64 at;

    METHOD void raise(double e, u64 index)
    {
        if (e > error || (e == error && index < at && e > 0.0)) {
            error = e;
            at = index;
        }
    }
};

// sum * 2^(2 * exponent), the exponent being that of the largest term.
struct Squares {
    dd sum;
    s64 exponent;

    // x * 2^(-2 by), of which nothing counts beside a sum of about 1 where `by` is large.
    METHOD static dd shrunk(dd x, s64 by)
    {
        const double factor = kerf::pow2<double>(by > 400 ? -800 : int(-2 * by));
        return dd{x.hi * factor, x.lo * factor};
    }

    METHOD void push(double x)
    {
        if (x == 0.0)
            return;
        if (!kerf::is_finite(x)) {
            sum = kerf::from_word(__builtin_fabs(x));
            return;
        }
        const int e = kerf::exponent(x);
        const double one = kerf::scale(x, -e);
        combine(Squares{kerf::two_prod(one, one), e});
    }

    METHOD void combine(Squares other)
    {
        if (other.sum.hi == 0.0)
            return;
        if (sum.hi == 0.0) {
            *this = other;
            return;
        }
        const s64 up = other.exponent - exponent;
        if (up > 0) {
            sum = shrunk(sum, up);
            exponent = other.exponent;
        } else {
            other.sum = shrunk(other.sum, -up);
        }
        sum = kerf::add(sum, other.sum);
    }
};

// `compare/records.rs` has the same order of fields.
struct Partial {
    u64 compared, nan_pairs, inf_pairs, nan_mismatch, inf_mismatch, bit_mismatches, first_mismatch;
    Largest abs, rel, ulp;
    double ulp_rounded, peak;
    dd rel_sum;
    Squares abs_squares, reference_squares;

    METHOD static Partial empty()
    {
        Partial p = {};
        p.first_mismatch = p.abs.at = p.rel.at = p.ulp.at = NOWHERE;
        return p;
    }

    METHOD void take_special(u64 index, double got, dd reference)
    {
        if (same(got, reference.hi)) {
            nan_pairs += is_nan(got);
            inf_pairs += !is_nan(got);
            return;
        }
        const bool one_nan = is_nan(got) != is_nan(reference.hi);
        nan_mismatch += one_nan;
        inf_mismatch += !one_nan;
        first_mismatch = index < first_mismatch ? index : first_mismatch;
    }

    METHOD void take(u64 index, double got, dd reference, const Values &v)
    {
        const Format format = v.layout.format;
        const double rounded = format.round(reference);
        bit_mismatches += !same(got, rounded);
        if (!kerf::is_finite(got) || !kerf::is_finite(reference.hi)) {
            take_special(index, got, reference);
            return;
        }
        const Errors e = errors_of(got, reference, v.floor);
        const s64 a = format.ordinal(got), b = format.ordinal(rounded);
        const double steps = double(a > b ? u64(a) - u64(b) : u64(b) - u64(a));
        ++compared;
        abs.raise(e.abs, index);
        rel.raise(e.rel, index);
        ulp.raise(e.abs / format.ulp(reference), index);
        ulp_rounded = steps > ulp_rounded ? steps : ulp_rounded;
        peak = e.size > peak ? e.size : peak;
        rel_sum = kerf::add_fp(rel_sum, e.rel);
        abs_squares.push(e.abs);
        reference_squares.push(e.size);
    }

    METHOD void combine(const Partial &o)
    {
        compared += o.compared;
        nan_pairs += o.nan_pairs;
        inf_pairs += o.inf_pairs;
        nan_mismatch += o.nan_mismatch;
        inf_mismatch += o.inf_mismatch;
        bit_mismatches += o.bit_mismatches;
        first_mismatch = o.first_mismatch < first_mismatch ? o.first_mismatch : first_mismatch;
        abs.raise(o.abs.error, o.abs.at);
        rel.raise(o.rel.error, o.rel.at);
        ulp.raise(o.ulp.error, o.ulp.at);
        ulp_rounded = o.ulp_rounded > ulp_rounded ? o.ulp_rounded : ulp_rounded;
        peak = o.peak > peak ? o.peak : peak;
        rel_sum = kerf::add(rel_sum, o.rel_sum);
        abs_squares.combine(o.abs_squares);
        reference_squares.combine(o.reference_squares);
    }
};

// A sum in double-double.
struct Sum {
    dd value;

    METHOD static Sum empty() { return Sum{dd{0.0, 0.0}}; }
    METHOD void combine(const Sum &o) { value = kerf::add(value, o.value); }
};

// A count.
struct Count {
    u64 value;

    METHOD static Count empty() { return Count{0}; }
    METHOD void combine(const Count &o) { value += o.value; }
};

// What the threads of a block have, neighbours first: `parts` has one for each of them, a power of two, and the first
// thread writes the result.
template <class T, u32 threads> DEVICE void reduce(T *parts, const T &own, T *out)
{
    const u32 t = thread();
    parts[t] = own;
    for (u32 step = 1; step < threads; step *= 2) {
        __syncthreads();
        if (t % (2 * step) == 0)
            parts[t].combine(parts[t + step]);
    }
    if (t == 0)
        *out = parts[0];
}
