#define HALF 0.5
static double halved(double x) { return HALF * x; }
