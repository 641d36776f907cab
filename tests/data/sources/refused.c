/* What cannot be read, with what to write instead. */
#include <math.h>

union number { double x; int k; };
struct point { double x, y; };
typedef double (*curve)(double);
static double helper(double x) { return x * x; }

double of_a_union(union number p) { return p.x; }
double of_no_struct(struct circle c) { return c.r; }
double of_no_field(struct point p) { return p.z; }
double of_a_function(double (*f)(double), double x) { return f(x); }
double unknown_function(double x) { return tanhh(x); }
double undeclared(double x) { return x * scale; }
double without_value(double x)
{
    double y;
    if (x > 0) y = 1;
    return y * x;
}
double no_value(double x) { double y; return y * x; }
double by_cases(int k, double x)
{
    switch (k) { case 1: if (x > 0) break; x = 2; }
    return x;
}
double jump(double x) { goto end; end: return x; }
double on_values(double x)
{
    while (x > 1e-6) x = x / 2;
    return x;
}
double turns(double x)
{
    double s = 0;
    for (int i = 0; i < (int)x; i++) s += x;
    return s;
}
double counting(int n, double x)
{
    while (n-- > 1) x *= 2;
    return x;
}
double moved(const double *x, const double *y) { double s = *x; x = y; return s + *x; }
double later(const double *x) { double *p; return p[0]; }
double **rows(double x) { return 0; }
double of_pointers(int n, double **A) { return A[0][0]; }
double turns_by_data(double x, const int *k) { for (int i = 0; i < k[0]; i++) x *= 2; return x; }
double grows(int n, const double x[n])
{
    double s = 0;
    int k = 0;
    for (int i = 0; i < n; i++) { s += x[k]; k += i * k; }
    return s;
}
double leaves(int n, const double x[n])
{
    for (int i = 0; i < n; i++)
        if (x[i] > 1) return x[i];
    return 0;
}
void chosen(int n, const double x[n], double y[n])
{
    for (int i = 0; i < n; i++)
        if (x[i] > 0) y[i] = x[i];
}
double bits(double x) { return 5 & (int)x; }
double beyond(double x) { double y[2] = {x, 2 * x}; return y[2]; }
double quiet(double x) { helper(x); return x; }
double sometimes(double x) { int k = 0; return x > 0 ? x * k++ : 0; }
void nothing(double x) { }
double parameters(double x) { return helper(x, 2); }
double complex_one(double complex z) { return 1; }
double texts(double x) { return x + "a"; }
static void both(double *a, double *b) { a[1] = b[1]; }
double overlapping(double x) { double y[3] = {x, x, x}; both(y, y + 1); return y[1]; }
double calls_before(double x) { static double c = 1; c += x; return c; }
