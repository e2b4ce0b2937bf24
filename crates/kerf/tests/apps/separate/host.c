double expected(double x) { return 4.0 * (2.0 * x) + 5.0; }
