// Expressions in postfix form: what expr/eval.rs of kerf-workload does.
#pragma once
#include "functions_power.h"
#include "functions_trigonometric.h"
#include "random.h"
#include "scalar.h"

// Values that an evaluation holds at a time, at most; device_inputs/expression.rs has the same.
enum { STACK = 32 };

// An exact integer or a float.
struct Number {
    u64 low, high; // bits of a float are in the low word
    bool is_float;

    METHOD static Number integer(s128 v) { return Number{u64(v), u64(u128(v) >> 64), false}; }
    METHOD static Number real(double v) { return Number{bits_of(v), 0, true}; }
    METHOD s128 as_integer() const { return s128(u128(high) << 64 | low); }
    METHOD double as_double() const { return is_float ? from_bits(low) : nearest_double(as_integer()); }
    METHOD bool is_true() const { return is_float ? from_bits(low) != 0.0 : (low | high) != 0; }
};

// device_inputs/expression.rs has the same order.
enum Code {
    PUSH_INTEGER,
    PUSH_FLOAT,
    INDEX,
    RANDOM,
    NEGATE,
    NOT,
    TRUTH,
    JUMP,
    UNLESS,
    AND,
    OR,
    ABS,
    SQRT,
    FLOOR,
    CEIL,
    EXP,
    LOG,
    LOG2,
    SIN,
    COS,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    REMAINDER,
    CEIL_DIVIDE,
    POWER,
    MIN,
    MAX,
    LESS,
    LESS_EQUAL,
    GREATER,
    GREATER_EQUAL,
    EQUAL,
    NOT_EQUAL,
};

struct Operation {
    u32 code, target; // of a jump, or the draw of a random number
    u64 low, high; // of a number
};

template <class T> DEVICE bool comparison(u32 code, T a, T b)
{
    switch (code) {
    case LESS:
        return a < b;
    case LESS_EQUAL:
        return a <= b;
    case GREATER:
        return a > b;
    case GREATER_EQUAL:
        return a >= b;
    case EQUAL:
        return a == b;
    default:
        return a != b;
    }
}

// Quotients and remainders; false where there is none.
DEVICE bool integer_division(u32 code, s128 a, s128 b, s128 &result)
{
    if (b == 0 || (b == -1 && a == least_s128()))
        return false;
    s128 rest;
    const s128 quotient = divide_signed(a, b, rest);
    if (code == REMAINDER)
        result = rest;
    else if (code == DIVIDE)
        result = quotient;
    else
        result = quotient + (rest != 0 && (rest < 0) == (b < 0));
    return true;
}

// Of an exponent that is not negative.
DEVICE bool integer_power(s128 base, s128 exponent, s128 &result)
{
    result = 1;
    for (;;) {
        if ((exponent & 1) && !multiply(result, base, result))
            return false;
        exponent >>= 1;
        if (exponent == 0)
            return true;
        if (!multiply(base, base, base))
            return false;
    }
}

DEVICE bool integer_operation(u32 code, s128 a, s128 b, s128 &result)
{
    switch (code) {
    case ADD:
        result = s128(u128(a) + u128(b));
        return ((a ^ result) & (b ^ result)) >= 0;
    case SUBTRACT:
        result = s128(u128(a) - u128(b));
        return ((a ^ b) & (a ^ result)) >= 0;
    case MULTIPLY:
        return multiply(a, b, result);
    case DIVIDE:
    case REMAINDER:
    case CEIL_DIVIDE:
        return integer_division(code, a, b, result);
    case POWER:
        return integer_power(a, b, result);
    case MIN:
        result = a < b ? a : b;
        return true;
    case MAX:
        result = a > b ? a : b;
        return true;
    default:
        result = comparison(code, a, b);
        return true;
    }
}

DEVICE Number float_operation(u32 code, double a, double b)
{
    switch (code) {
    case ADD:
        return Number::real(a + b);
    case SUBTRACT:
        return Number::real(a - b);
    case MULTIPLY:
        return Number::real(a * b);
    case DIVIDE:
        return Number::real(a / b);
    case REMAINDER:
        return Number::real(remainder_of(a, b));
    case POWER:
        return Number::real(portable::pow(a, b));
    case MIN:
        return Number::real(a < b || b != b ? a : b);
    case MAX:
        return Number::real(a > b || b != b ? a : b);
    default:
        return Number::integer(comparison(code, a, b));
    }
}

DEVICE bool binary(u32 code, Number a, Number b, Number &result)
{
    const bool is_fraction = code == POWER && s64(b.high) < 0;
    if (a.is_float || b.is_float || is_fraction) {
        result = float_operation(code, a.as_double(), b.as_double());
        return code != CEIL_DIVIDE;
    }
    s128 value;
    const bool has_value = integer_operation(code, a.as_integer(), b.as_integer(), value);
    result = Number::integer(value);
    return has_value;
}

// The absolute value or the negative.
DEVICE bool change_sign(u32 code, Number &x)
{
    if (x.is_float) {
        const double v = from_bits(x.low);
        x = Number::real(code == ABS ? __builtin_fabs(v) : -v);
        return true;
    }
    const s128 v = x.as_integer();
    if (v == least_s128())
        return false;
    x = Number::integer(code == NEGATE || v < 0 ? -v : v);
    return true;
}

// The integer next to a float, downwards or upwards.
DEVICE bool next_integer(u32 code, Number &x)
{
    if (!x.is_float)
        return true;
    const double v = from_bits(x.low);
    const double whole = code == FLOOR ? __builtin_floor(v) : __builtin_ceil(v);
    if (!(__builtin_fabs(whole) < 0x1p126))
        return false;
    x = Number::integer(integer_from(whole));
    return true;
}

DEVICE double function_value(u32 code, double x)
{
    switch (code) {
    case SQRT:
        return kerf::word<double>::sqrt(x);
    case EXP:
        return portable::exp(x);
    case LOG:
        return portable::log(x);
    case LOG2:
        return portable::log2(x);
    default:
        return portable::sin_or_cos(x, code == COS);
    }
}

DEVICE bool unary(u32 code, Number &x)
{
    switch (code) {
    case NEGATE:
    case ABS:
        return change_sign(code, x);
    case FLOOR:
    case CEIL:
        return next_integer(code, x);
    case NOT:
    case TRUTH:
        x = Number::integer(x.is_true() == (code == TRUTH));
        return true;
    default:
        x = Number::real(function_value(code, x.as_double()));
        return true;
    }
}

struct Expression {
    const Operation *operations;
    u64 length;
    Stream stream;

    // The value for scalar i; false where there is none.
    METHOD bool evaluate(u64 i, Number &result) const
    {
        Number stack[STACK];
        u32 depth = 0; // values on the stack
        u32 at = 0;
        while (at < length) {
            const Operation o = operations[at++];
            if (o.code <= RANDOM) {
                Number pushed = {o.low, o.high, o.code == PUSH_FLOAT};
                if (o.code == INDEX)
                    pushed = Number{i, 0, false};
                else if (o.code == RANDOM)
                    pushed = Number::real(stream.unit(i, o.target));
                stack[depth++] = pushed;
            } else if (o.code == JUMP) {
                at = o.target;
            } else if (o.code == UNLESS) {
                at = stack[--depth].is_true() ? at : o.target;
            } else if (o.code == AND || o.code == OR) {
                const bool truth = stack[--depth].is_true();
                if (truth == (o.code == OR)) {
                    stack[depth++] = Number::integer(truth);
                    at = o.target;
                }
            } else if (o.code < ADD) {
                if (!unary(o.code, stack[depth - 1]))
                    return false;
            } else {
                --depth;
                if (!binary(o.code, stack[depth - 1], stack[depth], stack[depth - 1]))
                    return false;
            }
        }
        result = stack[0];
        return true;
    }
};

// Bits of a value as a scalar; false where an integer type cannot hold it.
DEVICE bool scalar_bits(Number value, Scalar scalar, u64 &bits)
{
    if (scalar.is_float()) {
        bits = value.is_float ? scalar.float_bits(from_bits(value.low))
                              : scalar.float_bits(value.as_integer());
        return true;
    }
    if (!value.is_float) {
        const s128 v = value.as_integer();
        bits = value.low;
        return scalar.least() <= v && v <= scalar.most();
    }
    const double v = __builtin_trunc(from_bits(value.low));
    const u32 width = 8 * scalar.bytes();
    const double least = scalar.is_signed() ? -kerf::pow2<double>(width - 1) : 0.0;
    bits = scalar.saturated_bits(v);
    return least <= v && v < kerf::pow2<double>(width - scalar.is_signed());
}
