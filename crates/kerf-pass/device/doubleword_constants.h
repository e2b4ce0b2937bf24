// Constants of the elementary functions: exact values rounded to pairs of double, or cut into parts.
//
// A pair of floats is taken from the pair's high double, which holds five bits more than it.
#pragma once
#include "doubleword.h"

namespace kerf {

// 1/k! for k from 2 to 28.
KERF_DEVICE constexpr dw<double> inverse_factorial(int k)
{
    constexpr double table[27][2] = {
        {0.5, 0.0},
        {0.16666666666666666, 9.25185853854297e-18},
        {0.041666666666666664, 2.3129646346357427e-18},
        {0.008333333333333333, 1.1564823173178714e-19},
        {0.001388888888888889, -5.300543954373577e-20},
        {0.0001984126984126984, 1.7209558293420705e-22},
        {2.48015873015873e-05, 2.1511947866775882e-23},
        {2.7557319223985893e-06, -1.858393274046472e-22},
        {2.755731922398589e-07, 2.3767714622250297e-23},
        {2.505210838544172e-08, -1.448814070935912e-24},
        {2.08767569878681e-09, -1.20734505911326e-25},
        {1.6059043836821613e-10, 1.2585294588752098e-26},
        {1.1470745597729725e-11, 2.0655512752830745e-28},
        {7.647163731819816e-13, 7.03872877733453e-30},
        {4.779477332387385e-14, 4.399205485834081e-31},
        {2.8114572543455206e-15, 1.6508842730861433e-31},
        {1.5619206968586225e-16, 1.1910679660273754e-32},
        {8.22063524662433e-18, 2.2141894119604265e-34},
        {4.110317623312165e-19, 1.4412973378659527e-36},
        {1.9572941063391263e-20, -1.3643503830087908e-36},
        {8.896791392450574e-22, -7.911402614872376e-38},
        {3.868170170630684e-23, -8.843177655482344e-40},
        {1.6117375710961184e-24, -3.6846573564509766e-41},
        {6.446950284384474e-26, -1.9330404233703465e-42},
        {2.4795962632247976e-27, -1.2953730964765229e-43},
        {9.183689863795546e-29, 1.4303150396787322e-45},
        {3.279889237069838e-30, 1.5117542744029879e-46},
    };
    return dw<double>{table[k - 2][0], table[k - 2][1]};
}

// 1/(2j + 1) for j from 1 to 21.
KERF_DEVICE constexpr dw<double> inverse_odd(int j)
{
    constexpr double table[21][2] = {
        {0.3333333333333333, 1.850371707708594e-17},
        {0.2, -1.1102230246251566e-17},
        {0.14285714285714285, 7.93016446160826e-18},
        {0.1111111111111111, 6.1679056923619804e-18},
        {0.09090909090909091, -2.523234146875356e-18},
        {0.07692307692307693, -4.270088556250602e-18},
        {0.06666666666666667, 9.251858538542971e-19},
        {0.058823529411764705, 8.163404592832033e-19},
        {0.05263157894736842, 2.921639538487254e-18},
        {0.047619047619047616, 2.64338815386942e-18},
        {0.043478260869565216, 1.206764157201257e-18},
        {0.04, -8.326672684688674e-19},
        {0.037037037037037035, 2.05596856412066e-18},
        {0.034482758620689655, 4.785444071660157e-19},
        {0.03225806451612903, 8.953411488912552e-19},
        {0.030303030303030304, -8.410780489584519e-19},
        {0.02857142857142857, 8.921435019309293e-19},
        {0.02702702702702703, -1.50030138462859e-18},
        {0.02564102564102564, 8.896017825522087e-19},
        {0.024390243902439025, -8.46206573647223e-19},
        {0.023255813953488372, 3.2273925134452225e-19},
    };
    return dw<double>{table[j - 1][0], table[j - 1][1]};
}

template <class T> struct constant;

template <> struct constant<double> {
    KERF_DEVICE constexpr dw<double> pair(dw<double> c) { return c; }
    static constexpr double inverse_ln2 = 0x1.71547652b82fep+0, sqrt2 = 0x1.6a09e667f3bcdp+0;
    // In parts of 42, 42 and 53 bits: an exponent of double has 11.
    static constexpr double ln2_1 = 0.6931471805598903, ln2_2 = 5.49792301870721e-14,
                            ln2_3 = 1.1612227229362532e-26;
    static constexpr double lg2_1 = 0x1.34413509f7800p-2, lg2_2 = 0x1.fef311f12b000p-46,
                            lg2_3 = 0x1.ac0b7c917826bp-89; // log10(2)
    static constexpr double log2_10 = 0x1.a934f0979a371p+1;
    static constexpr double ln2[2] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
    static constexpr double ln10[2] = {0x1.26bb1bbb55516p+1, -0x1.f48ad494ea3e9p-53};
    static constexpr double log2_e[2] = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
    static constexpr double log10_e[2] = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
    static constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
    static constexpr double half_pi[5] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54,
                                          -0x1.f1976b7ed8fbcp-110, 0x1.4cf98e804177dp-164,
                                          0x1.31d89cd9128a5p-218};
    // Limits of exp, exp2 and exp10, above and below.
    static constexpr double exp_max = 709.79, exp_min = -745.14, exp2_max = 1024.0,
                            exp2_min = -1075.0, exp10_max = 308.26, exp10_min = -323.61;
    // Terms in double words, and further ones in words.
    static constexpr int exp_head = 13, exp_tail = 8, log_head = 11, log_tail = 10, trig_head = 8,
                         sin_tail = 5, cos_tail = 5;
    // Up to trig_limit the parts of pi/2 are enough for any double word; the first `quick` of them
    // unless it lies near a multiple of pi/2.
    static constexpr int parts = 5, quick = 3;
    static constexpr double trig_limit = 1073741824.0; // 2^30
};

template <> struct constant<float> {
    KERF_DEVICE constexpr dw<float> pair(dw<double> c)
    {
        return dw<float>{float(c.hi), float(c.hi - double(float(c.hi)))};
    }
    static constexpr float inverse_ln2 = 0x1.71547652b82fep+0, sqrt2 = 0x1.6a09e667f3bcdp+0;
    // In parts of 16, 16 and 24 bits: an exponent of float has 8.
    static constexpr float ln2_1 = 0.69314575f, ln2_2 = 1.4285906e-6f, ln2_3 = 1.619851e-11f;
    static constexpr float lg2_1 = 0x1.344p-2f, lg2_2 = 0x1.3508p-18f, lg2_3 = 0x1.f79ffp-34f;
    static constexpr float log2_10 = 0x1.a934fp+1f;
    static constexpr float ln2[2] = {0x1.62e43p-1f, -0x1.05c61p-29f};
    static constexpr float ln10[2] = {0x1.26bb1cp+1f, -0x1.12aabap-25f};
    static constexpr float log2_e[2] = {0x1.715476p+0f, 0x1.4ae0cp-26f};
    static constexpr float log10_e[2] = {0x1.bcb7b2p-2f, -0x1.5b235ep-27f};
    static constexpr float two_over_pi = 0x1.45f306p-1f;
    static constexpr float half_pi[5] = {0x1.921fb6p+0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f,
                                         0x1.98a2ep-77f, 0x1.b839a2p-104f};
    static constexpr float exp_max = 88.73f, exp_min = -103.98f, exp2_max = 128.0f,
                           exp2_min = -150.0f, exp10_max = 38.54f, exp10_min = -45.16f;
    static constexpr int exp_head = 7, exp_tail = 5, log_head = 5, log_tail = 4, trig_head = 4,
                         sin_tail = 3, cos_tail = 3;
    static constexpr int parts = 5, quick = 4;
    static constexpr float trig_limit = 1048576.0f; // 2^20
};

} // namespace kerf
