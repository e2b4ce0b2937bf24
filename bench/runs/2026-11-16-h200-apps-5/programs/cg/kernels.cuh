#pragma once
#include "csr.hpp"
__device__ double warp_sum(double v);
__device__ double block_sum(double v);
