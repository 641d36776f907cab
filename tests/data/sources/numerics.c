/* Functions of numerics.py in C. */
#include <math.h>
#define SQR(a) ((a) * (a))
typedef double real;

real rosenbrock_n(const real *x, int n)
{
    real sum = 0;
    for (int i = 0; i + 1 < n; i++)
        sum += 100 * SQR(x[i + 1] - SQR(x[i])) + SQR(1 - x[i]);
    return sum;
}
