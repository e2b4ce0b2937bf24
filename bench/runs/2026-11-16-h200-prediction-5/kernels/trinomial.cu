// American options on a trinomial tree, a block an option, levels of the tree in shared memory.
#ifndef REAL
#define REAL float
#endif
#define STEPS 127

__global__ void value(const REAL *spot, const REAL *strike, REAL *price, REAL rate, REAL sigma, REAL years)
{
    __shared__ REAL level[2][2 * STEPS + 2];
    const REAL s = spot[blockIdx.x], k = strike[blockIdx.x];
    const REAL dt = years / STEPS, jump = sigma * sqrtf(2 * dt);
    const REAL up = expf(rate * dt / 2), a = expf(sigma * sqrtf(dt / 2));
    const REAL pu = (up - 1 / a) / (a - 1 / a), pd = (a - up) / (a - 1 / a);
    const REAL qu = pu * pu, qd = pd * pd, qm = 1 - qu - qd, discount = expf(-rate * dt);
    const int t = threadIdx.x;
    const REAL own = t <= 2 * STEPS ? s * expf(jump * (t - STEPS)) : REAL(0);
    if (t <= 2 * STEPS)
        level[0][t] = fmaxf(k - own, REAL(0));
    __syncthreads();
    int now = 0;
    for (int n = STEPS - 1; n >= 0; --n) {
        if (t >= STEPS - n && t <= STEPS + n) {
            const REAL held = discount * (qd * level[now][t - 1] + qm * level[now][t] + qu * level[now][t + 1]);
            level[1 - now][t] = fmaxf(held, k - own);
        }
        now = 1 - now;
        __syncthreads();
    }
    if (t == STEPS)
        price[blockIdx.x] = level[now][t];
}
