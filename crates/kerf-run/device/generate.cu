// First contents of buffers, with the bits that generate.rs of kerf-workload gives them.
//
// Every scalar is a function of its number, so that nothing depends on the launch. Sums are taken in chunks of a fixed
// number, as generate/perturb.rs takes them.
#include "digest.h"
#include "expression.h"
#include "partial.h"

// device_inputs.rs has the same.
enum { THREADS = 256, LANES = 128, CHUNK = 4096 };

DEVICE u64 first_index() { return u64(block()) * THREADS + thread(); }
DEVICE u64 index_step() { return u64(blocks()) * THREADS; }
DEVICE double clamped(double x, double least, double most)
{
    x = x < least ? least : x;
    return x > most ? most : x;
}

KERNEL void clear_bytes(u8 *buffer, u64 bytes)
{
    const u64 words = (u64(buffer) & 7) == 0 ? bytes / 8 : 0;
    for (u64 i = first_index(); i < words; i += index_step())
        ((u64 *)buffer)[i] = 0;
    for (u64 i = 8 * words + first_index(); i < bytes; i += index_step())
        buffer[i] = 0;
}

KERNEL void fill_constant(Place p, u64 bits)
{
    for (u64 i = first_index(); i < p.count; i += index_step())
        p.store(i, bits);
}

// Scalars that lie one behind the other.
KERNEL void fill_listed(Place p, const u8 *listed)
{
    const u32 bytes = p.scalar.bytes();
    for (u64 i = first_index(); i < p.count; i += index_step())
        p.store(i, load_bits(listed + i * bytes, bytes));
}

// A range of 0 is one of 2^64.
struct UniformIntegers {
    u64 low, range;
    Stream stream;
};

KERNEL void fill_uniform_integers(Place p, UniformIntegers v)
{
    for (u64 i = first_index(); i < p.count; i += index_step()) {
        const u64 bits = v.stream.bits(i, 0).first;
        p.store(i, v.low + (v.range != 0 ? high_product(bits, v.range) : bits));
    }
}

DEVICE double between(double low, double high, double unit)
{
    const double width = high - low;
    return kerf::is_finite(width) ? low + width * unit : low * (1.0 - unit) + high * unit;
}

struct UniformFloats {
    double low, high, least, most;
    Stream stream;
};

KERNEL void fill_uniform_floats(Place p, UniformFloats v)
{
    for (u64 i = first_index(); i < p.count; i += index_step()) {
        const double x = between(v.low, v.high, v.stream.unit(i, 0));
        p.store(i, p.scalar.float_bits(clamped(x, v.least, v.most)));
    }
}

struct LogUniform {
    double from, to, least, most;
    Stream stream;
};

KERNEL void fill_log_uniform(Place p, LogUniform v)
{
    const bool whole = !p.scalar.is_float();
    for (u64 i = first_index(); i < p.count; i += index_step()) {
        const double x = portable::exp(between(v.from, v.to, v.stream.unit(i, 0)));
        p.store(i, p.scalar.bits_from(clamped(whole ? __builtin_floor(x) : x, v.least, v.most)));
    }
}

struct Normal {
    double mean, sd;
    Stream stream;
};

KERNEL void fill_normal(Place p, Normal v)
{
    const bool whole = !p.scalar.is_float();
    for (u64 pair = first_index(); 2 * pair < p.count; pair += index_step()) {
        const Pair n = normals(v.stream.bits(pair, 0));
        const double a = v.mean + v.sd * n.first, b = v.mean + v.sd * n.second;
        p.store(2 * pair, p.scalar.bits_from(whole ? __builtin_rint(a) : a));
        if (2 * pair + 1 < p.count)
            p.store(2 * pair + 1, p.scalar.bits_from(whole ? __builtin_rint(b) : b));
    }
}

// The first integer, and the last minus the first as a number of 128 bits.
struct LinearIntegers {
    u64 from, width_low, width_high;
};

KERNEL void fill_linear_integers(Place p, LinearIntegers v)
{
    const s128 width = s128(u128(v.width_high) << 64 | v.width_low);
    const u64 last = p.count > 1 ? p.count - 1 : 1;
    for (u64 i = first_index(); i < p.count; i += index_step()) {
        s128 rest;
        const s128 steps = divide_signed(2 * width * s128(i) + last, 2 * s128(last), rest);
        p.store(i, v.from + u64(steps) - (rest < 0));
    }
}

struct LinearFloats {
    double from, to;
};

KERNEL void fill_linear_floats(Place p, LinearFloats v)
{
    const double last = double(s64(p.count > 1 ? p.count - 1 : 1));
    for (u64 i = first_index(); i < p.count; i += index_step()) {
        const double product = (v.to - v.from) * double(s64(i));
        double x = kerf::is_finite(product) ? v.from + product / last
                                            : between(v.from, v.to, double(s64(i)) / last);
        if (i + 1 == p.count && i > 0)
            x = v.to;
        p.store(i, p.scalar.float_bits(x));
    }
}

KERNEL void fill_permutation(Place p, Permutation v)
{
    for (u64 i = first_index(); i < p.count; i += index_step())
        p.store(i, v.at(i));
}

// `failing` becomes the number of the first scalar that has no value, if one has none.
KERNEL void fill_expression(Place p, Expression v, u64 *failing)
{
    for (u64 i = first_index(); i < p.count; i += index_step()) {
        Number value;
        u64 bits;
        if (v.evaluate(i, value) && scalar_bits(value, p.scalar, bits))
            p.store(i, bits);
        else
            __atomic_fetch_min(failing, i, __ATOMIC_RELAXED);
    }
}

// How many values are finite, and a sum over them.
struct Moment {
    double count, sum;

    METHOD static Moment empty() { return Moment{0.0, 0.0}; }
    METHOD void combine(const Moment &o)
    {
        count += o.count;
        sum += o.sum;
    }
};

// Sums of the values of one chunk for each block, or of the squares of their distances from a mean.
KERNEL void sum_values(Place p, double mean, u64 squared, Moment *out)
{
    static SHARED Moment parts[LANES];
    const u64 start = u64(block()) * CHUNK;
    const u64 end = start + CHUNK < p.count ? start + CHUNK : p.count;
    Moment own = Moment::empty();
    for (u64 i = start + thread(); i < end; i += LANES) {
        const double x = p.load(i);
        if (kerf::is_finite(x))
            own.combine(Moment{1.0, squared ? (x - mean) * (x - mean) : x});
    }
    reduce<Moment, LANES>(parts, own, out + block());
}

// Sums of chunks of sums.
KERNEL void sum_moments(const Moment *in, u64 count, Moment *out)
{
    static SHARED Moment parts[LANES];
    const u64 start = u64(block()) * CHUNK;
    const u64 end = start + CHUNK < count ? start + CHUNK : count;
    Moment own = Moment::empty();
    for (u64 i = start + thread(); i < end; i += LANES)
        own.combine(in[i]);
    reduce<Moment, LANES>(parts, own, out + block());
}

DEVICE void move_value(const Place &p, u64 i, double change)
{
    const double x = p.load(i);
    if (kerf::is_finite(x))
        p.store(i, p.scalar.float_bits(x + change));
}

// Adds normal numbers of a standard deviation to values.
KERNEL void move_values(Place p, double sd, Stream stream)
{
    for (u64 pair = first_index(); 2 * pair < p.count; pair += index_step()) {
        const Pair n = normals(stream.bits(pair, 0));
        move_value(p, 2 * pair, sd * n.first);
        if (2 * pair + 1 < p.count)
            move_value(p, 2 * pair + 1, sd * n.second);
    }
}

// Sets the flag if a value is NaN or infinite.
KERNEL void find_nonfinite(Place p, u64 *found)
{
    bool own = false;
    for (u64 i = first_index(); i < p.count; i += index_step())
        own |= !kerf::is_finite(p.load(i));
    if (own)
        __atomic_store_n(found, 1ull, __ATOMIC_RELAXED);
}

// The sums of all bytes in words of 8; the host adds the number of bytes.
KERNEL void digest_buffer(const u8 *buffer, u64 bytes, u64 *sums)
{
    u64 own[2] = {};
    for (u64 i = first_index(); i < (bytes + 7) / 8; i += index_step()) {
        const u64 left = bytes - 8 * i;
        u64 word = 0;
        if (left >= 8)
            word = load_bits(buffer + 8 * i, 8);
        else
            for (u32 k = 0; k < left; ++k)
                word |= u64(buffer[8 * i + k]) << 8 * k;
        digest_word(own, i, word);
    }
    add_to_digest<THREADS>(sums, own[0], own[1]);
}
