/* Functions of physics.py in C. */
#include <math.h>
#define G 6.674e-11          /* m^3/(kg s^2) */
#define EARTH 5.972e24       /* kg */
#define MU (G * EARTH)
#define SQUARE(x) ((x) * (x))

/* Speed on an orbit by the vis-viva equation. */
double orbit_speed(double r, double a)
{
    return sqrt(MU * (2 / r - 1 / a));
}

double drag_force(double v, double rho, double area) {
    // Reynolds number decides the coefficient
    double re = rho * fabs(v) * sqrt(area) / 1.8e-5, cd;
    if (re < 1.0)
        cd = 24 / re;
    else if (re < 1000.0)
        cd = 24 / re * (1 + 0.15 * pow(re, 0.687));
    else
        cd = 0.44;
    return 0.5 * rho * cd * area * v * fabs(v);
}

static inline double raw(double x, double eps, double sigma)
{
    double q = pow(sigma / x, 6);
    return 4 * eps * (q * q - q);
}

double lennard_jones(double r, double eps, double sigma, double cutoff)
{
    if (r >= cutoff) return 0.0;
    return raw(r, eps, sigma) - raw(cutoff, eps, sigma);
}

/* Range of a shot by small steps with a quadratic drag. */
void projectile(double v0, double angle, double wind, double *px, double *py)
{
    const double dt = 0.05;
    double x = 0, y = 0, vx = v0 * cos(angle), vy = v0 * sin(angle);
    for (int i = 0; i < 20; ++i) {
        double speed = sqrt(SQUARE(vx - wind) + SQUARE(vy));
        double ax = -0.01 * speed * (vx - wind);
        double ay = -9.81 - 0.01 * speed * vy;
        x += vx * dt;
        y += vy * dt;
        vx += ax * dt;
        vy += ay * dt;
    }
    *px = x;
    *py = y;
}

double gravity_energy(int n, const double *m, const double *x)
{
    double e = 0;
    int i, j;
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            e -= m[i] * m[j] / (fabs(x[i] - x[j]) + 0.1);
    return e;
}
