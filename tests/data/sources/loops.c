/* Functions of loops.py in C. */
#include <math.h>
#include <string.h>

/* A network with one cell. */
double recurrent(int n, const double x[n], double a)
{
    double h = 0.0;
    for (int i = 0; i < n; i++)
        h = tanh(a * h + x[i]);
    return h;
}

void low_pass(int n, const double *x, double a, double *y)
{
    y[0] = x[0];
    for (int i = 1; i < n; i++)
        y[i] = a * y[i - 1] + x[i];
}

void matmul(int n, int m, int k, const double *A, const double *B, double *C)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < k; j++) {
            double sum = 0;
            for (int l = 0; l < m; l++)
                sum += A[i * m + l] * B[l * k + j];
            C[i * k + j] = sum;
        }
}

static void step(int n, const double A[n][n], const double x[n], double y[n])
{
    for (int i = 0; i < n; i++) {
        y[i] = 0;
        for (int j = 0; j < n; j++)
            y[i] += A[i][j] * x[j];
    }
}

void linear_steps(int t, int n, const double A[t][n][n], const double x0[n], double x[n])
{
    double y[n];
    memcpy(x, x0, n * sizeof(double));
    for (int k = 0; k < t; k++) {
        step(n, A[k], x, y);
        for (int i = 0; i < n; i++)
            x[i] = y[i];
    }
}
