// The comparison of an output with its double-double reference.
//
// Values are taken in chunks of a fixed number, one for each block, and the partial results of chunks are combined in
// groups of a fixed number until one is left: results do not depend on the device. Counting is the only thing that is
// done by atomic operations.
#include "closeness.h"
#include "digest.h"
#include "partial.h"
#include "scaled.h"

// compare/records.rs has the same.
enum { THREADS = 128, CHUNK = 4096, GROUP = 1024 };
enum { DIGIT_BITS = 9, BINS = 1 << DIGIT_BITS, PREFIXES = 8, COUNTERS = 256 };
enum { HALVES = 1264 };

// Partial results of one chunk for each block.
KERNEL void compare_chunks(Values v, Partial *out)
{
    static SHARED Partial parts[THREADS];
    const u64 start = u64(block()) * CHUNK;
    const u64 end = start + CHUNK < v.count ? start + CHUNK : v.count;
    Partial own = Partial::empty();
    for (u64 i = start + thread(); i < end; i += THREADS)
        own.take(i, v.got(i), v.reference(i), v);
    reduce<Partial, THREADS>(parts, own, out + block());
}

// One of GROUP partial results, for each block.
template <class T> DEVICE void combine_group(T *parts, const T *in, u64 count, T *out)
{
    enum { EACH = GROUP / THREADS };
    const u64 start = u64(block()) * GROUP + thread() * EACH;
    T own = T::empty();
    for (u64 i = start; i < start + EACH && i < count; ++i)
        own.combine(in[i]);
    reduce<T, THREADS>(parts, own, out + block());
}

KERNEL void combine_partials(const Partial *in, u64 count, Partial *out)
{
    static SHARED Partial parts[THREADS];
    combine_group(parts, in, count, out);
}

KERNEL void combine_sums(const Sum *in, u64 count, Sum *out)
{
    static SHARED Sum parts[THREADS];
    combine_group(parts, in, count, out);
}

// The values with the largest errors and their references, in the order abs, rel, ulp: three threads.
KERNEL void fetch_largest(Values v, const Partial *all, double *out)
{
    const u32 t = thread();
    const Largest l = t == 0 ? all->abs : t == 1 ? all->rel : all->ulp;
    if (l.at == NOWHERE)
        return;
    const dd r = v.reference(l.at);
    out[3 * t] = v.got(l.at);
    out[3 * t + 1] = r.hi;
    out[3 * t + 2] = r.lo;
}

// One digit of the relative errors whose digits above it are a given prefix. Errors are non-negative, so their bits are
// in their order.
struct Digit {
    u64 prefixes[PREFIXES];
    u32 count; // of prefixes
    u32 shift; // bits below the digit
};

KERNEL void count_digits(Values v, Digit d, u64 *bins)
{
    static SHARED u32 own[PREFIXES * BINS];
    const u32 all = d.count * BINS;
    for (u32 b = thread(); b < all; b += COUNTERS)
        own[b] = 0;
    __syncthreads();
    const u64 stride = u64(blocks()) * COUNTERS;
    for (u64 i = u64(block()) * COUNTERS + thread(); i < v.count; i += stride) {
        const double got = v.got(i);
        const dd reference = v.reference(i);
        if (!kerf::is_finite(got) || !kerf::is_finite(reference.hi))
            continue;
        const u64 bits = bits_of(__builtin_fabs(errors_of(got, reference, v.floor).rel));
        const u32 digit = u32(bits >> d.shift) % BINS;
        for (u32 k = 0; k < d.count; ++k)
            if (bits >> (d.shift + DIGIT_BITS) == d.prefixes[k])
                __atomic_fetch_add(&own[k * BINS + digit], 1u, __ATOMIC_RELAXED);
    }
    __syncthreads();
    for (u32 b = thread(); b < all; b += COUNTERS)
        if (own[b] != 0)
            __atomic_fetch_add(&bins[b], u64(own[b]), __ATOMIC_RELAXED);
}

// The relative error of a value, infinite where only one of value and reference is finite or both are not the same.
DEVICE double relative_error(const Values &v, u64 index)
{
    const double got = v.got(index);
    const dd reference = v.reference(index);
    if (kerf::is_finite(got) && kerf::is_finite(reference.hi))
        return errors_of(got, reference, v.floor).rel;
    return same(got, reference.hi) ? 0.0 : __builtin_inf();
}

// Cells of a map of errors, and where half decades begin.
struct Spread {
    u64 rows, columns, height, width;
    const double *limits;
    u64 halves;

    METHOD u64 cell(u64 index) const
    {
        return index / width * rows / height * columns + index % width * columns / width;
    }
    // The last half decade that begins at or below an error, which is as large as the first at least.
    METHOD u32 half(double error) const
    {
        u32 low = 0, high = halves;
        while (high - low > 1) {
            const u32 middle = (low + high) / 2;
            if (limits[middle] <= error)
                low = middle;
            else
                high = middle;
        }
        return low;
    }
};

// Counts values without error, those with an infinite one, and the others by half decade, and takes the largest of each
// cell: `out` has them in this order.
KERNEL void spread_errors(Values v, Spread s, u64 *out)
{
    static SHARED u32 own[HALVES + 2];
    for (u32 b = thread(); b < HALVES + 2; b += COUNTERS)
        own[b] = 0;
    __syncthreads();
    u64 *cells = out + 2 + s.halves;
    const u64 stride = u64(blocks()) * COUNTERS;
    for (u64 i = u64(block()) * COUNTERS + thread(); i < v.count; i += stride) {
        const double error = relative_error(v, i);
        const u32 kind = error == 0.0 ? 0 : kerf::is_finite(error) ? 2 + s.half(error) : 1;
        __atomic_fetch_add(&own[kind], 1u, __ATOMIC_RELAXED);
        // Errors are non-negative: their bits are in their order. Most are no news.
        u64 *cell = cells + s.cell(i);
        if (bits_of(error) > *(volatile u64 *)cell)
            __atomic_fetch_max(cell, bits_of(error), __ATOMIC_RELAXED);
    }
    __syncthreads();
    for (u32 b = thread(); b < 2 + s.halves; b += COUNTERS)
        if (own[b] != 0)
            __atomic_fetch_add(&out[b], u64(own[b]), __ATOMIC_RELAXED);
}

// Values whose error is no less than another: their number, and of the first `most` that come index, error, value and
// reference.
KERNEL void collect_errors(Values v, double least, u64 most, u64 *out)
{
    const u64 stride = u64(blocks()) * COUNTERS;
    for (u64 i = u64(block()) * COUNTERS + thread(); i < v.count; i += stride) {
        const double error = relative_error(v, i);
        if (!(error >= least))
            continue;
        const u64 at = __atomic_fetch_add(out, u64(1), __ATOMIC_RELAXED);
        if (at >= most)
            continue;
        u64 *to = out + 1 + 4 * at;
        to[0] = i;
        to[1] = bits_of(error);
        to[2] = bits_of(v.got(i));
        to[3] = bits_of(to_double(v.reference(i)));
    }
}

// Integers of two buffers of the same layout. Places have the offset in the low 32 bits of a word, the size above.
struct IntegerPairs {
    const u8 *candidate, *reference;
    const u64 *places;
    u64 element, count;
    u64 scalars;
};

KERNEL void count_integer_mismatches(IntegerPairs n, u64 *mismatches)
{
    static SHARED Count parts[COUNTERS];
    static SHARED Count sum;
    Count own = Count::empty();
    const u64 stride = u64(blocks()) * COUNTERS;
    for (u64 i = u64(block()) * COUNTERS + thread(); i < n.count; i += stride) {
        const u64 place = n.places[n.scalars == 1 ? 0 : i % n.scalars];
        const u64 at = i / n.scalars * n.element + u32(place);
        const u32 bytes = place >> 32;
        own.value += load_bits(n.candidate + at, bytes) != load_bits(n.reference + at, bytes);
    }
    reduce<Count, COUNTERS>(parts, own, &sum);
    if (thread() == 0 && sum.value != 0)
        __atomic_fetch_add(mismatches, sum.value, __ATOMIC_RELAXED);
}

// Counts what is not close, and what of it is not finite; takes the bits of the largest difference, and how far before the
// end the first number is that is not close. `out` has them in this order.
KERNEL void compare_closeness(Closeness c, u64 *out)
{
    enum { SUMS = 2, WORDS = 4 };
    static SHARED u64 all[WORDS];
    const u32 t = thread();
    if (t < WORDS)
        all[t] = 0;
    __syncthreads();
    u64 own[WORDS] = {};
    const u64 stride = u64(blocks()) * COUNTERS;
    for (u64 i = u64(block()) * COUNTERS + t; i < c.count; i += stride)
        c.take(i, own);
    for (u32 k = 0; k < SUMS; ++k)
        if (own[k] != 0)
            __atomic_fetch_add(&all[k], own[k], __ATOMIC_RELAXED);
    for (u32 k = SUMS; k < WORDS; ++k)
        if (own[k] != 0)
            __atomic_fetch_max(&all[k], own[k], __ATOMIC_RELAXED);
    __syncthreads();
    if (t < SUMS && all[t] != 0)
        __atomic_fetch_add(&out[t], all[t], __ATOMIC_RELAXED);
    else if (t >= SUMS && t < WORDS && all[t] != 0)
        __atomic_fetch_max(&out[t], all[t], __ATOMIC_RELAXED);
}

KERNEL void digest_values(Values v, u64 *sums)
{
    u64 own[2] = {};
    const u64 stride = u64(blocks()) * COUNTERS;
    for (u64 i = u64(block()) * COUNTERS + thread(); i < v.count; i += stride) {
        const double got = v.got(i);
        digest_word(own, i, is_nan(got) ? 0x7ff8000000000000ull : bits_of(got));
    }
    add_to_digest<COUNTERS>(sums, own[0], own[1]);
}

KERNEL void digest_integers(IntegerPairs n, u64 *sums)
{
    u64 own[2] = {};
    const u64 stride = u64(blocks()) * COUNTERS;
    for (u64 i = u64(block()) * COUNTERS + thread(); i < n.count; i += stride) {
        const u64 place = n.places[n.scalars == 1 ? 0 : i % n.scalars];
        const u64 at = i / n.scalars * n.element + u32(place);
        digest_word(own, i, load_bits(n.candidate + at, place >> 32));
    }
    add_to_digest<COUNTERS>(sums, own[0], own[1]);
}

// Numbers of one format as numbers of another, each rounded once.
struct Conversion {
    const u8 *from;
    u8 *to;
    u64 count;
    StorageFormat from_format, to_format;
    u64 *lost; // counters of what scaled formats lose
};

KERNEL void convert_values(Conversion c)
{
    const u32 in = c.from_format.bytes(), out = c.to_format.bytes();
    const u64 stride = u64(blocks()) * COUNTERS;
    u64 lost[NO_LOSS] = {};
    for (u64 i = u64(block()) * COUNTERS + thread(); i < c.count; i += stride) {
        const double x = c.from_format.decode(load_bits(c.from + i * in, in));
        const u32 loss = c.to_format.store(c.to + i * out, x);
        for (u32 k = 0; k < NO_LOSS; ++k)
            lost[k] += loss == k;
    }
    for (u32 k = 0; k < NO_LOSS; ++k)
        if (lost[k] != 0)
            __atomic_fetch_add(c.lost + k, lost[k], __ATOMIC_RELAXED);
}

// Structural similarity, as metrics/ssim.rs of kerf-num has it, of one channel.
enum { WINDOW = 11, TILE = 16, SIDE = TILE + WINDOW - 1, STATISTICS = 5 };
struct Channel {
    u64 height, width, channels, channel;
    double shift, c1, c2;
    double weights[WINDOW];
};

// Sums of the reference over the pixels of a chunk.
KERNEL void sum_channel(Values v, Channel c, Sum *out)
{
    static SHARED Sum parts[THREADS];
    const u64 pixels = c.height * c.width, start = u64(block()) * CHUNK;
    const u64 end = start + CHUNK < pixels ? start + CHUNK : pixels;
    Sum own = Sum::empty();
    for (u64 i = start + thread(); i < end; i += THREADS)
        own.value = kerf::add_fp(own.value, to_double(v.reference(i * c.channels + c.channel)));
    reduce<Sum, THREADS>(parts, own, out + block());
}

DEVICE double similarity(const double *mean, const Channel &c)
{
    const double mx = mean[0], my = mean[1];
    const double vx = mean[2] - mx * mx, vy = mean[3] - my * my;
    const double cov = mean[4] - mx * my;
    const double a = mx + c.shift, b = my + c.shift;
    const double means = (2.0 * a * b + c.c1) / (a * a + b * b + c.c1);
    return means * (2.0 * cov + c.c2) / (vx + vy + c.c2);
}

// Sums over a tile of TILE by TILE windows for each block of as many threads. Means are taken over the columns of a
// window, then over its rows.
KERNEL void sum_similarity(Values v, Channel c, Sum *out)
{
    static SHARED double x[SIDE][SIDE], y[SIDE][SIDE], across[STATISTICS][SIDE][TILE];
    static SHARED Sum parts[TILE * TILE];
    const u64 rows = c.height + 1 - WINDOW, columns = c.width + 1 - WINDOW;
    const u64 tiles = (columns + TILE - 1) / TILE;
    const u64 top = block() / tiles * TILE, left = block() % tiles * TILE;
    const u32 t = thread();
    for (u32 i = t; i < SIDE * SIDE; i += TILE * TILE) {
        const u64 row = top + i / SIDE, column = left + i % SIDE;
        const bool inside = row < c.height && column < c.width;
        const u64 at = (row * c.width + column) * c.channels + c.channel;
        x[i / SIDE][i % SIDE] = inside ? v.got(at) - c.shift : 0.0;
        y[i / SIDE][i % SIDE] = inside ? to_double(v.reference(at)) - c.shift : 0.0;
    }
    __syncthreads();
    for (u32 i = t; i < SIDE * TILE; i += TILE * TILE) {
        const u32 row = i / TILE, column = i % TILE;
        double sums[STATISTICS] = {};
        for (u32 k = 0; k < WINDOW; ++k) {
            const double w = c.weights[k], a = x[row][column + k], b = y[row][column + k];
            sums[0] += w * a;
            sums[1] += w * b;
            sums[2] += w * (a * a);
            sums[3] += w * (b * b);
            sums[4] += w * (a * b);
        }
        for (u32 s = 0; s < STATISTICS; ++s)
            across[s][row][column] = sums[s];
    }
    __syncthreads();
    const u32 row = t / TILE, column = t % TILE;
    double mean[STATISTICS] = {};
    for (u32 k = 0; k < WINDOW; ++k)
        for (u32 s = 0; s < STATISTICS; ++s)
            mean[s] += c.weights[k] * across[s][row + k][column];
    Sum own = Sum::empty();
    if (top + row < rows && left + column < columns)
        own.value = kerf::from_word(similarity(mean, c));
    reduce<Sum, TILE * TILE>(parts, own, out + block());
}
