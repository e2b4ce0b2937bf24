#pragma once
void advance(double *x, double *v, const double *k, int n, int steps, double dt);
