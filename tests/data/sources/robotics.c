/* Functions of robotics.py in C. */
#include <math.h>

static void rotate_z(double q, const double *v, double *w)
{
    const double c = cos(q), s = sin(q);
    w[0] = c * v[0] - s * v[1];
    w[1] = s * v[0] + c * v[1];
    w[2] = v[2];
}

static void rotate_x(double q, const double *v, double *w)
{
    const double c = cos(q), s = sin(q);
    w[0] = v[0];
    w[1] = c * v[1] - s * v[2];
    w[2] = s * v[1] + c * v[2];
}

/* Position of the tip of an arm with three joints. */
void arm_tip(double q1, double q2, double q3, double l1, double l2, double *tip)
{
    double forearm[3] = {0.0, l2}, arm[3] = {0.0, l1, 0.0}, turned[3], all[6];
    rotate_x(q3, forearm, turned);
    for (int i = 0; i < 3; i++)
        arm[i] += turned[i];
    rotate_x(q2, arm, all);
    rotate_z(q1, all, &all[3]);
    for (int i = 0; i < 3; i++)
        tip[i] = (all + 3)[i];
}
