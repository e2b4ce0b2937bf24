// Words of device code that CUDA's headers would give.
#pragma once

#define DEVICE __attribute__((device, always_inline)) inline
#define KERNEL extern "C" __attribute__((global))
#define SHARED __attribute__((shared))

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

template <class To, class From> DEVICE To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "same size");
    return __builtin_bit_cast(To, from);
}

// 2^e, for e in the range of normal doubles.
DEVICE double power_of_two(int e) { return bits_as<double>((u64)(e + 1023) << 52); }

DEVICE bool is_nan(double x) { return x != x; }
DEVICE bool is_infinite(double x) { return __builtin_fabs(x) == __builtin_inf(); }
