/* What C means otherwise than Python, and the forms in which it is written. */
#include <math.h>
#include <string.h>
#include "corners.h"
#ifndef STEPS
#define STEPS 10
#elif STEPS > 3 && defined(M_PI)
#error "not this one"
#endif
#define CUBE(x) ((x) * (x) * (x))
#define AXPY(a, x, y) ((a) * (x) \
                       + (y))

static const double weight[4] = {0.5, 1.5, 2}, table[2][2] = {{1, 2}, {3, 4}};

double whole_division(double x)
{
    return 7 / 2 + (-7) / 2 + 7 % 3 + (-7) % 3 + 1.0 / 2 + 010 + 0x10 + x * (1 / 2) + 3 / 2.0f;
}

double left_early(double x)
{
    int i;
    double s = 0;
    for (i = 0; i < STEPS; i++) {
        if (i == 5) continue;
        if (i > 7) break;
        s += i * x;
    }
    return s;
}

double behind_the_loop(double x)
{
    int i, k = 0;
    for (i = 0; i < 5; i += 2)
        k++;
    do {
        x *= 1.5;
        if (++k > 4) continue;
        x += 1;
    } while (k < 6);
    return x + i * k;
}

float single(float x) { return sinf(x) * 2.0f + fabsf(x) + powf(x, 3) + CUBE(x - 1.f) + AXPY(2, x, 1); }

double by_pointers(const double *x)
{
    double s = 0, y[3];
    const double *p = x + 1, *q = &x[1];
    memset(y, 0, 3 * sizeof(double));
    memcpy(y, q, sizeof(*y) * 2);
    for (int i = 0; i < 3; i++)
        s += p[i] * *(x + i) * weight[i] + y[i] + *q;
    return s;
}

double shadowed(double x)
{
    double y = x * x, z;
    { double x = 3; y += x; }
    z = y = 2 * y;
    return z + y + x + (x > 0) + !(x > 1) + halved(x) + (x ? table[1][0] : 0);
}

static int status(double x, double *y)
{
    if (x < 0) return 1;
    *y = sqrt(x);
    return 0;
}

int checked(const double *in, double *out)
{
    if (in[0] < 0) return 1;
    out[0] = in[1] * in[0];
    if (status(in[1], &out[1])) out[1] = 0;
    return 0;
}

static void swap(double *a, double *b)
{
    double t = *a;
    *a = *b;
    *b = t;
}

double moving_index(const double *x)
{
    int k = 0;
    double s = x[k++];
    s -= 2 * x[k++];
    s += x[++k];
    return s * k;
}

void sorted(const double x[3], double y[3])
{
    for (int i = 2; i >= 0; --i)
        y[i] = x[i];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2 - i; j++)
            if (y[j] > y[j + 1])
                swap(&y[j], &y[j + 1]);
}

double power(double x, int n)
{
    double r = 1;
    while (n > 0) {
        if (n % 2) r *= x;
        x *= x;
        n /= 2;
    }
    return r;
}

double rounded(double x) { return round(2.5 * x) + rint(2.5) + fmax(x, 0.5) + fmod(-7.5, 2) + fdim(x, 0.25) + abs(-3) + (int)(3.7 * x); }

double in_part(double x, int n)
{
    double a[4];
    for (int i = 0; i < 4; i++)
        a[i] = x * i;
    for (int i = 0; i < n; i++)
        a[i] = a[i] + x * x;
    return a[0] * a[3];
}

double recursive(double x, int n) { return n <= 0 ? 1 : x * recursive(x + 1, n - 1); }
