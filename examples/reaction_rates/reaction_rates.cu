// Rates of the reactions of a burning gas in every cell of a grid: hydrogen in air, 9 species, 24
// reversible reactions.
//
//   forward:  k_f = A T^b exp(-Ta / T)                                          (Arrhenius)
//   Gibbs:    g/RT = a1 (1 - ln T) - a2 T/2 - a3 T^2/6 - a4 T^3/12 - a5 T^4/20 + a6/T - a7
//   reverse:  k_r = k_f / K,   K = exp(-sum nu g/RT) (p0 / R T)^(sum nu)
//   net:      q = (k_f prod [reactants] - k_r prod [products]) [M]
//   species:  w_s = sum_r nu_sr q_r
//
// Every kernel has a thread for each cell; blockIdx.y is the reaction or the species. Arrays are by
// species or reaction first, then by cell. Units: mol, cm, s, K.
//
// Build: nvcc -O2 -arch=native reaction_rates.cu -o reaction_rates      (-DREAL=float for single)
// Run:   ./reaction_rates [-n cells] [-b threads]

#include "../common.cuh"

#ifndef REAL
#define REAL double
#endif

#define SPECIES 9
#define REACTIONS 24
#define COEFFICIENTS 7
#define MOST 3 // species on one side of a reaction; -1 for none

#define GAS REAL(82.0574587) // cm^3 atm / (mol K)

struct Reaction {
    REAL log_a, b, ta;
    int reactants[MOST], products[MOST];
    int third; // whether any molecule takes part as [M]
};

__constant__ Reaction reactions[REACTIONS];
__constant__ REAL thermo[SPECIES * COEFFICIENTS];

__global__ void gibbs(const REAL *temperature, REAL *g, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const REAL *a = thermo + blockIdx.y * COEFFICIENTS;
    const REAL t = temperature[i];
    const REAL poly = t * (a[1] * REAL(1.0 / 2)
        + t * (a[2] * REAL(1.0 / 6) + t * (a[3] * REAL(1.0 / 12) + t * a[4] * REAL(1.0 / 20))));
    g[blockIdx.y * n + i] = a[0] * (REAL(1) - log(t)) - poly + a[5] / t - a[6];
}

__global__ void forward_rates(const REAL *temperature, REAL *forward, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const Reaction &r = reactions[blockIdx.y];
    const REAL t = temperature[i];
    forward[blockIdx.y * n + i] = exp(r.log_a + r.b * log(t) - r.ta / t);
}

__global__ void reverse_rates(const REAL *temperature, const REAL *g, const REAL *forward,
                              REAL *reverse, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const Reaction &r = reactions[blockIdx.y];
    REAL change = 0; // of g
    int more = 0;    // molecules
    for (int k = 0; k < MOST; ++k) {
        if (r.products[k] >= 0) {
            change += g[r.products[k] * n + i];
            ++more;
        }
        if (r.reactants[k] >= 0) {
            change -= g[r.reactants[k] * n + i];
            --more;
        }
    }
    const REAL standard = REAL(1) / (GAS * temperature[i]); // concentration at p0 = 1 atm
    REAL equilibrium = exp(-change);
    for (; more > 0; --more)
        equilibrium *= standard;
    for (; more < 0; ++more)
        equilibrium /= standard;
    reverse[blockIdx.y * n + i] = forward[blockIdx.y * n + i] / equilibrium;
}

__global__ void net_rates(const REAL *concentrations, const REAL *forward, const REAL *reverse,
                          REAL *net, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const Reaction &r = reactions[blockIdx.y];
    REAL ahead = forward[blockIdx.y * n + i], back = reverse[blockIdx.y * n + i];
    for (int k = 0; k < MOST; ++k) {
        if (r.reactants[k] >= 0)
            ahead *= concentrations[r.reactants[k] * n + i];
        if (r.products[k] >= 0)
            back *= concentrations[r.products[k] * n + i];
    }
    REAL q = ahead - back;
    if (r.third) {
        REAL any = 0;
        for (int s = 0; s < SPECIES; ++s)
            any += concentrations[s * n + i];
        q *= any;
    }
    net[blockIdx.y * n + i] = q;
}

__global__ void production(const REAL *net, REAL *rates, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int s = blockIdx.y;
    if (i >= n)
        return;
    REAL sum = 0;
    for (int r = 0; r < REACTIONS; ++r) {
        int nu = 0;
        for (int k = 0; k < MOST; ++k)
            nu += (reactions[r].products[k] == s) - (reactions[r].reactants[k] == s);
        if (nu != 0)
            sum += REAL(nu) * net[r * n + i];
    }
    rates[s * n + i] = sum;
}

// Species: H2 H O O2 OH H2O HO2 H2O2 N2. Coefficients for 1000 K to 3500 K and rates from GRI-Mech 3.0,
// without its collision efficiencies; the fall-off reaction is left out.
static const double thermo_table[SPECIES * COEFFICIENTS] = {
    3.3372792, -4.94024731e-05, 4.99456778e-07, -1.79566394e-10, 2.00255376e-14, -950.158922, -3.20502331, // H2
    2.50000001, -2.30842973e-11, 1.61561948e-14, -4.73515235e-18, 4.98197357e-22, 25473.6599, -0.446682914, // H
    2.56942078, -8.59741137e-05, 4.19484589e-08, -1.00177799e-11, 1.22833691e-15, 29217.5791, 4.78433864, // O
    3.28253784, 0.00148308754, -7.57966669e-07, 2.09470555e-10, -2.16717794e-14, -1088.45772, 5.45323129, // O2
    3.09288767, 0.000548429716, 1.26505228e-07, -8.79461556e-11, 1.17412376e-14, 3858.657, 4.4766961, // OH
    3.03399249, 0.00217691804, -1.64072518e-07, -9.7041987e-11, 1.68200992e-14, -30004.2971, 4.9667701, // H2O
    4.0172109, 0.00223982013, -6.3365815e-07, 1.1424637e-10, -1.07908535e-14, 111.856713, 3.78510215, // HO2
    4.16500285, 0.00490831694, -1.90139225e-06, 3.71185986e-10, -2.87908305e-14, -17861.7877, 2.91615662, // H2O2
    2.92664, 0.0014879768, -5.68476e-07, 1.0097038e-10, -6.753351e-15, -922.7977, 5.980528, // N2
};

struct HostReaction {
    double a, b, e; // e in cal/mol
    int reactants[MOST], products[MOST], third;
};

static const HostReaction table[REACTIONS] = {
    {1.2e+17, -1, 0, {2, 2, -1}, {3, -1, -1}, 1},
    {5e+17, -1, 0, {2, 1, -1}, {4, -1, -1}, 1},
    {38700, 2.7, 6260, {2, 0, -1}, {1, 4, -1}, 0},
    {2e+13, 0, 0, {2, 6, -1}, {4, 3, -1}, 0},
    {9.63e+06, 2, 4000, {2, 7, -1}, {4, 6, -1}, 0},
    {2.8e+18, -0.86, 0, {1, 3, -1}, {6, -1, -1}, 1},
    {2.08e+19, -1.24, 0, {1, 3, 3}, {6, 3, -1}, 0},
    {1.126e+19, -0.76, 0, {1, 3, 5}, {6, 5, -1}, 0},
    {2.6e+19, -1.24, 0, {1, 3, 8}, {6, 8, -1}, 0},
    {2.65e+16, -0.6707, 17041, {1, 3, -1}, {2, 4, -1}, 0},
    {1e+18, -1, 0, {1, 1, -1}, {0, -1, -1}, 1},
    {9e+16, -0.6, 0, {1, 1, 0}, {0, 0, -1}, 0},
    {6e+19, -1.25, 0, {1, 1, 5}, {0, 5, -1}, 0},
    {2.2e+22, -2, 0, {1, 4, -1}, {5, -1, -1}, 1},
    {3.97e+12, 0, 671, {1, 6, -1}, {2, 5, -1}, 0},
    {4.48e+13, 0, 1068, {1, 6, -1}, {3, 0, -1}, 0},
    {8.4e+13, 0, 635, {1, 6, -1}, {4, 4, -1}, 0},
    {1.21e+07, 2, 5200, {1, 7, -1}, {6, 0, -1}, 0},
    {1e+13, 0, 3600, {1, 7, -1}, {4, 5, -1}, 0},
    {2.16e+08, 1.51, 3430, {4, 0, -1}, {1, 5, -1}, 0},
    {35700, 2.4, -2110, {4, 4, -1}, {2, 5, -1}, 0},
    {1.45e+13, 0, -500, {4, 6, -1}, {3, 5, -1}, 0},
    {2e+12, 0, 427, {4, 7, -1}, {6, 5, -1}, 0},
    {1.3e+11, 0, -1630, {6, 6, -1}, {3, 7, -1}, 0},
};

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int n = options("n", 1 << 16), threads = options("b", 128, 1024);
    options.done("[-n cells] [-b threads]");

    std::vector<Reaction> mechanism(REACTIONS);
    for (int r = 0; r < REACTIONS; ++r) {
        Reaction &m = mechanism[r];
        m.log_a = REAL(std::log(table[r].a));
        m.b = REAL(table[r].b);
        m.ta = REAL(table[r].e / 1.98720425864);
        std::memcpy(m.reactants, table[r].reactants, sizeof m.reactants);
        std::memcpy(m.products, table[r].products, sizeof m.products);
        m.third = table[r].third;
    }
    const std::vector<REAL> coefficients(thermo_table, thermo_table + SPECIES * COEFFICIENTS);
    CUDA_CHECK(cudaMemcpyToSymbol(reactions, mechanism.data(), REACTIONS * sizeof(Reaction)));
    CUDA_CHECK(cudaMemcpyToSymbol(thermo, coefficients.data(), SPECIES * COEFFICIENTS * sizeof(REAL)));

    Array<REAL> temperature(n), concentrations(size_t(SPECIES) * n), g(size_t(SPECIES) * n);
    Array<REAL> forward(size_t(REACTIONS) * n), reverse(size_t(REACTIONS) * n),
        net(size_t(REACTIONS) * n);
    Array<REAL> rates(size_t(SPECIES) * n);
    const double typical[SPECIES] = {1.6e-6, 8e-8, 4e-8, 8e-7, 8e-8, 8e-7, 1e-10, 1e-10, 4.6e-6};
    Random random;
    for (int i = 0; i < n; ++i) {
        temperature[i] = REAL(random.uniform(1000, 2500));
        for (int s = 0; s < SPECIES; ++s)
            concentrations[size_t(s) * n + i] = REAL(typical[s] * random.uniform(0.5, 1.5));
    }
    temperature.up();
    concentrations.up();

    const dim3 each_species(ceil_div(n, threads), SPECIES),
        each_reaction(ceil_div(n, threads), REACTIONS);
    Timer timer;
    gibbs<<<each_species, threads>>>(temperature.device, g.device, n);
    forward_rates<<<each_reaction, threads>>>(temperature.device, forward.device, n);
    reverse_rates<<<each_reaction, threads>>>(temperature.device, g.device, forward.device,
        reverse.device, n);
    net_rates<<<each_reaction, threads>>>(concentrations.device, forward.device, reverse.device,
        net.device, n);
    production<<<each_species, threads>>>(net.device, rates.device, n);
    const float ms = timer.stop();
    reverse.down();
    rates.down();

    // On the host by pow; a rate of production is compared in units of what is made and used up.
    Worst worst(0.0);
    for (int i = 0; i < n; i += 1 + n / 1000) {
        const double t = temperature[i];
        double g_host[SPECIES], w[SPECIES] = {}, size[SPECIES] = {}, any = 0;
        for (int s = 0; s < SPECIES; ++s) {
            const REAL *a = &coefficients[s * COEFFICIENTS];
            const double h = a[0] + a[1] * t / 2 + a[2] * t * t / 3 + a[3] * std::pow(t, 3) / 4
                + a[4] * std::pow(t, 4) / 5 + a[5] / t;
            const double entropy = a[0] * std::log(t) + a[1] * t + a[2] * t * t / 2
                + a[3] * std::pow(t, 3) / 3 + a[4] * std::pow(t, 4) / 4 + a[6];
            g_host[s] = h - entropy;
            any += concentrations[size_t(s) * n + i];
        }
        for (int r = 0; r < REACTIONS; ++r) {
            const Reaction &m = mechanism[r];
            const double kf = std::exp(m.log_a - m.ta / t) * std::pow(t, double(m.b));
            double dg = 0, nu = 0, ahead = 1, back = 1;
            for (int k = 0; k < MOST; ++k) {
                if (m.reactants[k] >= 0)
                    dg -= g_host[m.reactants[k]], nu -= 1,
                        ahead *= concentrations[size_t(m.reactants[k]) * n + i];
                if (m.products[k] >= 0)
                    dg += g_host[m.products[k]], nu += 1,
                        back *= concentrations[size_t(m.products[k]) * n + i];
            }
            const double kr = kf / (std::exp(-dg) * std::pow(82.0574587 * t, -nu));
            worst.add(reverse[size_t(r) * n + i], kr);
            const double third = m.third ? any : 1.0;
            for (int k = 0; k < MOST; ++k) {
                if (m.reactants[k] >= 0)
                    w[m.reactants[k]] -= (kf * ahead - kr * back) * third,
                        size[m.reactants[k]] += (kf * ahead + kr * back) * third;
                if (m.products[k] >= 0)
                    w[m.products[k]] += (kf * ahead - kr * back) * third,
                        size[m.products[k]] += (kf * ahead + kr * back) * third;
            }
        }
        for (int s = 0; s < SPECIES; ++s)
            if (size[s] > 0)
                worst.add(rates[size_t(s) * n + i] / size[s] + 2, w[s] / size[s] + 2);
    }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-11 : 1e-3);
}
