// Powers, and the logarithm to base 2: portable/power.rs of kerf-num.
#pragma once
#include "functions.h"

namespace portable {

constexpr double ROWS_PER_UNIT = 64.0;
constexpr int FIRST_ROW = 45;

// For m nearest j / 64: an r near 1 / m, and -ln r in two parts. LOG_ROWS of portable/tables.rs is the same.
static __attribute__((device)) const double log_rows[47][3] = {
    {1.42236328125, -0.35231977072544396, -7.459223982916023e-11},
    {1.39111328125, -0.33010434824973345, -8.87764419172742e-11},
    {1.36181640625, -0.30881940154358745, 7.549689661624465e-11},
    {1.33349609375, -0.28780413535423577, 3.9929163507334206e-11},
    {1.30615234375, -0.26708567305468023, -1.1602829068302674e-10},
    {1.27978515625, -0.24669221718795598, 2.394803779169431e-11},
    {1.2548828125, -0.22704219166189432, -6.797275733858204e-11},
    {1.23095703125, -0.20779194100759923, -2.0922186725169396e-11},
    {1.20751953125, -0.18856828147545457, 1.1343676748609435e-10},
    {1.18505859375, -0.16979221953079104, -3.641193300571487e-11},
    {1.16357421875, -0.15149649092927575, -1.0067968113374215e-11},
    {1.14306640625, -0.13371448125690222, -7.461014429768561e-11},
    {1.123046875, -0.11604541586712003, 1.0927737228893185e-10},
    {1.103515625, -0.0985011060256511, -8.128206113013328e-11},
    {1.0849609375, -0.08154398412443697, 8.426007375163103e-11},
    {1.06689453125, -0.06475212145596743, 8.567530447306256e-11},
    {1.04931640625, -0.04813891043886542, -4.424663191174733e-11},
    {1.0322265625, -0.03171818028204143, 1.1256890744059808e-11},
    {1.01611328125, -0.015984840225428343, -8.807678646059805e-12},
    {1.0, 0.0, 0.0},
    {0.984375, 0.01574835693463683, 3.3502337323980175e-11},
    {0.9697265625, 0.03074114164337516, -8.909465631747739e-11},
    {0.955078125, 0.04596213554032147, 2.4314289987965688e-11},
    {0.94140625, 0.06038051098585129, 3.056192029648778e-12},
    {0.927734375, 0.07500982098281384, 2.2052740400500027e-11},
    {0.9140625, 0.08985632914118469, -1.9323640537793985e-11},
    {0.9013671875, 0.10384257114492357, -4.832263098253238e-11},
    {0.888671875, 0.11802720604464412, 4.39132516401429e-11},
    {0.876953125, 0.13130173739045858, -9.320509233021981e-11},
    {0.86474609375, 0.1453193484339863, -5.742144257498654e-11},
    {0.853515625, 0.15839143004268408, -9.87664442772439e-11},
    {0.84228515625, 0.17163665662519634, 6.874193448614646e-11},
    {0.8310546875, 0.18505967711098492, -8.49059624579106e-11},
    {0.8203125, 0.19806991377845407, -1.636027050360844e-11},
    {0.81005859375, 0.21064869593828917, 3.0664747419183644e-11},
    {0.7998046875, 0.22338772169314325, 5.3240421664946124e-11},
    {0.7900390625, 0.23567288857884705, -3.788564592974033e-11},
    {0.7802734375, 0.24811085988767445, -5.449602377249269e-11},
    {0.77099609375, 0.2600719719193876, -1.5631265981020065e-11},
    {0.76171875, 0.2721778859850019, -6.91862483653826e-11},
    {0.7529296875, 0.2837834320962429, -6.011930023780427e-11},
    {0.744140625, 0.29552525002509356, -1.122867351380364e-10},
    {0.73583984375, 0.30674278759397566, -6.10727189727e-11},
    {0.72705078125, 0.3187589533627033, 1.1268609529725842e-10},
    {0.71923828125, 0.32956256973557174, -3.880360859768252e-11},
    {0.7109375, 0.341170757310465, 9.230214654370605e-11},
    {0.703125, 0.3522205934859812, 1.0337087314473569e-10},
};

// (ln(1 + z) - z + z^2 / 2) / z^3.
DEVICE double log_tail(double z)
{
    const double high = 1.0 / 7.0 - z * (0.125 - z * (1.0 / 9.0 - z * (0.1 - z * (1.0 / 11.0))));
    return 1.0 / 3.0 - z * (0.25 - z * (0.2 - z * (1.0 / 6.0 - z * high)));
}

// ln m + k ln 2 in two words.
DEVICE dd log_pair(double k, double m)
{
    const double *row = log_rows[int(m * ROWS_PER_UNIT + 0.5) - FIRST_ROW];
    const double r = row[0], upper = upper_half(m);
    const dd z = kerf::two_sum(upper * r - 1.0, (m - upper) * r);
    const dd square = product(z.hi, z.hi);
    const double cubic = z.hi * square.hi * log_tail(z.hi);
    const dd sum = kerf::two_sum(k * LN2_HIGH + row[1], z.hi);
    const dd more = kerf::two_sum(sum.hi, -0.5 * square.hi);
    const double rest =
        (z.lo - z.hi * z.lo - 0.5 * square.lo) + (k * LN2_LOW + row[2]) + cubic;
    return kerf::fast_two_sum(more.hi, sum.lo + more.lo + rest);
}

DEVICE double log2(double x)
{
    Parts parts;
    if (!binary_parts(x, parts))
        return log_special(x);
    const dd log = log_pair(0.0, parts.m);
    const dd p = product(log.hi, LOG2_E);
    const double rest = p.lo + (log.hi * LOG2_E_REST + log.lo * LOG2_E);
    const dd sum = kerf::two_sum(parts.k, p.hi);
    return sum.hi + (sum.lo + rest);
}

// e^(hi + lo) for |hi| < 1000.
DEVICE double exp_pair(double hi, double lo)
{
    const double k = nearest(hi * LOG2_E);
    const dd r = kerf::two_sum(hi - k * LN2_HIGH, lo - k * LN2_LOW);
    const dd sum = kerf::fast_two_sum(1.0, r.hi);
    const double rest = sum.lo + (r.lo + r.hi * r.lo) + exp_rest(r.hi);
    return scaled(sum.hi + rest, k);
}

// (2^k m)^y for a finite y other than zero.
DEVICE double finite_power(Parts parts, double y)
{
    const dd log = log_pair(parts.k, parts.m);
    const double plain = y * log.hi;
    if (!(__builtin_fabs(plain) < 1000.0))
        return plain > 0.0 ? __builtin_inf() : 0.0;
    const dd p = product(y, log.hi);
    return exp_pair(p.hi, p.lo + y * log.lo);
}

DEVICE double pow(double x, double y)
{
    if (y == 2.0)
        return x * x;
    if (y == 0.0 || x == 1.0)
        return 1.0;
    if (x != x || y != y)
        return __builtin_nan("");
    const double size = __builtin_fabs(x), infinity = __builtin_inf();
    if (__builtin_fabs(y) == infinity)
        return size == 1.0 ? 1.0 : (size > 1.0) == (y > 0.0) ? infinity : 0.0;
    const bool large = __builtin_fabs(y) >= 0x1p53;
    const s64 integer = large ? 0 : s64(y);
    const bool whole = large || double(integer) == y, odd = whole && (integer & 1);
    Parts parts;
    double value;
    if (!binary_parts(size, parts))
        value = (size == 0.0) == (y > 0.0) ? 0.0 : infinity;
    else if (x < 0.0 && !whole)
        value = __builtin_nan("");
    else
        value = finite_power(parts, y);
    return odd && bits_of(x) >> 63 ? -value : value;
}

} // namespace portable
