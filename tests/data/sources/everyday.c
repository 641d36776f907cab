/* Functions as people write them: structs, switch, pointers that move, loops over sizes, tables. */
#include <math.h>
#include <stdbool.h>
#define G 6.674e-11
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define NDIM 3

/* Newton's potential of two points */
typedef struct { double x, y, z; } vec3;
static vec3 sub(vec3 a, vec3 b) { vec3 r = {a.x - b.x, a.y - b.y, a.z - b.z}; return r; }
static double dot(const vec3 *a, const vec3 *b) { return a->x * b->x + a->y * b->y + a->z * b->z; }
double potential(vec3 p, vec3 q, double m1, double m2)
{
    vec3 d = sub(p, q);
    return -G * m1 * m2 / sqrt(dot(&d, &d));
}

/* The energy of three bodies */
struct body { double mass; double pos[NDIM]; double vel[NDIM]; };
double kinetic(const struct body bodies[3])
{
    double e = 0.0;
    for (int i = 0; i < 3; ++i)
        for (int d = 0; d < NDIM; ++d)
            e += 0.5 * bodies[i].mass * bodies[i].vel[d] * bodies[i].vel[d];
    return e;
}

/* Kernels */
enum kernel { GAUSS, LAPLACE, CAUCHY };
double kernel(int kind, double r)
{
    switch (kind) {
    case GAUSS: return exp(-r * r);
    case LAPLACE: return exp(-fabs(r));
    default: return 1.0 / (1.0 + r * r);
    }
}

/* A coefficient by its order */
double coefficient(double x, int order)
{
    double c;
    switch (order) {
    case 0:
    case 1:
        c = 1.0;
        break;
    case 2:
        c = x;
        c *= 2;
        break;
    default:
        c = x * x;
        break;
    case 3:
        c = x - 1;
    }
    return c * x;
}

/* Horner's scheme */
static const double COEF[] = {1.0, -0.5, 0.25, -0.125};
double horner(double x)
{
    double r = 0;
    for (int i = (int)(sizeof(COEF) / sizeof(COEF[0])) - 1; i >= 0; --i)
        r = r * x + COEF[i];
    return r;
}

/* A root by Newton's steps */
double cube_root(double a)
{
    double x = a > 1.0 ? a : 1.0;
    int it = 0;
    do {
        x = x - (x * x * x - a) / (3.0 * x * x);
        it++;
    } while (it < 20);
    return x;
}

/* A step of a pendulum */
static void deriv(const double y[2], double dydt[2], double g, double l)
{
    dydt[0] = y[1];
    dydt[1] = -g / l * sin(y[0]);
}
void rk4_step(const double y[2], double h, double g, double l, double yout[2])
{
    double k1[2], k2[2], k3[2], k4[2], tmp[2];
    int i;
    deriv(y, k1, g, l);
    for (i = 0; i < 2; i++) tmp[i] = y[i] + 0.5 * h * k1[i];
    deriv(tmp, k2, g, l);
    for (i = 0; i < 2; i++) tmp[i] = y[i] + 0.5 * h * k2[i];
    deriv(tmp, k3, g, l);
    for (i = 0; i < 2; i++) tmp[i] = y[i] + h * k3[i];
    deriv(tmp, k4, g, l);
    for (i = 0; i < 2; i++) yout[i] = y[i] + h / 6.0 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
}

/* Where an arm ends */
static void dh(double a, double alpha, double d, double theta, double T[4][4])
{
    double ct = cos(theta), st = sin(theta), ca = cos(alpha), sa = sin(alpha);
    T[0][0] = ct; T[0][1] = -st * ca; T[0][2] = st * sa; T[0][3] = a * ct;
    T[1][0] = st; T[1][1] = ct * ca; T[1][2] = -ct * sa; T[1][3] = a * st;
    T[2][0] = 0; T[2][1] = sa; T[2][2] = ca; T[2][3] = d;
    T[3][0] = T[3][1] = T[3][2] = 0; T[3][3] = 1;
}
static void mat4_mul(double A[4][4], double B[4][4], double C[4][4])
{
    int i, j, k;
    double t[4][4];
    for (i = 0; i < 4; i++)
        for (j = 0; j < 4; j++) {
            t[i][j] = 0;
            for (k = 0; k < 4; k++)
                t[i][j] += A[i][k] * B[k][j];
        }
    for (i = 0; i < 4; i++)
        for (j = 0; j < 4; j++)
            C[i][j] = t[i][j];
}
static const double DH[3][3] = {{0.4, 1.5707963, 0.1}, {0.3, 0, 0}, {0.2, 0, 0.05}};
void end_effector(const double q[3], double pos[3])
{
    double T[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}, A[4][4];
    for (int j = 0; j < 3; j++) {
        dh(DH[j][0], DH[j][1], DH[j][2], q[j], A);
        mat4_mul(T, A, T);
    }
    for (int j = 0; j < 3; j++) pos[j] = T[j][3];
}

/* Black and Scholes */
static float norm_cdf(float x) { return 0.5f * erfcf(-x * 0.70710678f); }
float bs_call(float S, float K, float T, float r, float sigma)
{
    if (T <= 0.0f)
        return fmaxf(S - K, 0.0f);
    float d1 = (logf(S / K) + (r + 0.5f * sigma * sigma) * T) / (sigma * sqrtf(T));
    float d2 = d1 - sigma * sqrtf(T);
    return S * norm_cdf(d1) - K * expf(-r * T) * norm_cdf(d2);
}

/* The trapezoid rule */
double trapz(const double *x, const double *y, int n)
{
    double s = 0.0;
    for (int i = 1; i < n; i++)
        s += 0.5 * (x[i] - x[i - 1]) * (y[i] + y[i - 1]);
    return s;
}

/* A tridiagonal system */
void thomas(int n, const double *a, const double *b, const double *c, const double *d, double *x)
{
    double cp[n], dp[n];
    cp[0] = c[0] / b[0];
    dp[0] = d[0] / b[0];
    for (int i = 1; i < n; i++) {
        double m = b[i] - a[i] * cp[i - 1];
        cp[i] = c[i] / m;
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m;
    }
    x[n - 1] = dp[n - 1];
    for (int i = n - 2; i >= 0; i--)
        x[i] = dp[i] - cp[i] * x[i + 1];
}

/* An American option */
#define STEPS 8
double american_put(double s, double k, double r, double sigma, double t)
{
    double dt = t / STEPS, u = exp(sigma * sqrt(dt)), d = 1 / u, p = (exp(r * dt) - d) / (u - d);
    double v[STEPS + 1];
    for (int i = 0; i <= STEPS; i++)
        v[i] = fmax(k - s * pow(u, 2 * i - STEPS), 0.0);
    for (int step = STEPS - 1; step >= 0; step--)
        for (int i = 0; i <= step; i++) {
            double hold = exp(-r * dt) * (p * v[i + 1] + (1 - p) * v[i]);
            double now = k - s * pow(u, 2 * i - step);
            v[i] = hold > now ? hold : now;
        }
    return v[0];
}

/* The angle of a quaternion */
static void quat_normalize(double q[4])
{
    double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++) q[i] /= n;
}
double quat_angle(double w, double x, double y, double z)
{
    double q[4] = {w, x, y, z};
    quat_normalize(q);
    return 2 * atan2(hypot(hypot(q[1], q[2]), q[3]), q[0]);
}

/* Pairs of atoms up to a distance */
double cut_off_pairs(int n, const double *pos, double eps, double sigma, double rc)
{
    double e = 0;
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
            double dx = pos[3 * i] - pos[3 * j], dy = pos[3 * i + 1] - pos[3 * j + 1], dz = pos[3 * i + 2] - pos[3 * j + 2];
            double r2 = dx * dx + dy * dy + dz * dz;
            if (r2 > rc * rc)
                continue;
            double s6 = pow(sigma * sigma / r2, 3);
            e += 4 * eps * (s6 * s6 - s6);
        }
    }
    return e;
}

/* A product by pointers that move */
double dot_product(const double *a, const double *b, int n)
{
    double s = 0;
    while (n--)
        s += *a++ * *b++;
    return s;
}

/* A smooth step */
double clamp_step(double x, double lo, double hi)
{
    bool below = x < lo, above = x > hi;
    if (below || above)
        return below ? lo : hi;
    double t = (x - lo) / (hi - lo);
    return t * t * (3 - 2 * t);
}

/* A step of a spring */
struct params { double k, c, m; };
struct state { double x, v; };
void spring_step(const struct params *p, const struct state *s, double dt, struct state *out)
{
    double a = (-p->k * s->x - p->c * s->v) / p->m;
    out->v = s->v + dt * a;
    out->x = s->x + dt * out->v;
}

/* The roots of a quadratic */
int solve_quadratic(double a, double b, double c, double *r1, double *r2)
{
    double disc = b * b - 4 * a * c;
    if (disc < 0)
        return -1;
    double s = sqrt(disc);
    *r1 = (-b + s) / (2 * a);
    *r2 = (-b - s) / (2 * a);
    return 0;
}

/* How smooth an image is */
#define W 4
#define H 3
double smoothness(double img[H][W])
{
    double e = 0;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            if (x + 1 < W) e += (img[y][x + 1] - img[y][x]) * (img[y][x + 1] - img[y][x]);
            if (y + 1 < H) e += (img[y + 1][x] - img[y][x]) * (img[y + 1][x] - img[y][x]);
        }
    return e;
}

/* Kepler's equation */
double kepler(double M, double e)
{
    double E = M;
    int iter = 0;
    while (iter < 10) {
        double dE = (E - e * sin(E) - M) / (1 - e * cos(E));
        E -= dE;
        if (fabs(dE) < 1e-12)
            break;
        iter++;
    }
    return E;
}

/* A quadratic form by the packed triangle of its matrix, by a formula and by a counter. */
double packed(int n, const double L[n * (n + 1) / 2], const double *x)
{
    double s = 0;
    int at = 0;
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            s += L[at++] * x[i] * x[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            s -= L[i * (i + 1) / 2 + j] * x[j];
    return s;
}

/* Rows of a matrix that a table names, and a pointer that goes from row to row. */
double gathered(int n, int d, const double *A, const int row[n], const double *x)
{
    double s = 0;
    const double *p = A;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < d; j++)
            s += A[row[i] * d + j] * x[j] + p[j];
        p += d;
    }
    return s;
}

/* A table between its points. */
double interpolated(double t, const double c[4])
{
    int k = (int)t;
    return c[k] + (t - k) * (c[k + 1] - c[k]);
}

/* Steps of an array in its place, with an array for what each step needs. */
double relaxed(int n, const double x[n], double h)
{
    double u[n], slope[n], s = 0;
    for (int i = 0; i < n; i++)
        u[i] = x[i];
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < n; i++)
            slope[i] = sin(u[i]) + t;
        for (int i = 0; i < n; i++)
            u[i] += h * slope[i] * u[i];
    }
    for (int i = 0; i < n; i++)
        s += u[i] * u[i];
    return s;
}

/* What is stored into was there before. */
void advanced(struct state *s, double dt, double x[2])
{
    double t = x[0];
    s->v -= dt * s->x;
    s->x += dt * s->v;
    x[0] = x[1];
    x[1] = t * s->x;
}

/* Squares of x summed by their bins, onto what is in them. */
void histogram(int n, int m, const int row[n], const double x[n], double h[m])
{
    for (int i = 0; i < n; i++)
        h[row[i]] += x[i] * x[i];
}

/* Neighbours on a ring, and every other element once more. */
double ring(int n, const double x[n])
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] * x[(i + 1) % n] + (i % 2) * x[i];
    return s;
}
