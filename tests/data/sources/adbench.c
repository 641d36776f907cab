/* ADBench's objective: a mixture of Gaussians with a Wishart prior. */
#include <math.h>
#include <stdlib.h>

static double arr_max(int n, const double *x)
{
    double m = x[0];
    for (int i = 1; i < n; i++)
        if (x[i] > m)
            m = x[i];
    return m;
}

static double logsumexp(int n, const double *x)
{
    double mx = arr_max(n, x), semx = 0.0;
    for (int i = 0; i < n; i++)
        semx += exp(x[i] - mx);
    return log(semx) + mx;
}

static double sqnorm(int n, const double *x)
{
    double res = x[0] * x[0];
    for (int i = 1; i < n; i++)
        res += x[i] * x[i];
    return res;
}

double gmm_objective(int d, int k, int n, const double *alphas, const double *means, const double *icf,
                     const double *x, double gamma, int m)
{
    const double CONSTANT = -n * d * 0.5 * log(2 * M_PI);
    const int icf_sz = d * (d + 1) / 2;
    double Qdiags[k * d], sum_qs[k], xcentered[d], Qxcentered[d], main_term[k];

    for (int ik = 0; ik < k; ik++) {
        sum_qs[ik] = 0.;
        for (int id = 0; id < d; id++) {
            double q = icf[ik * icf_sz + id];
            sum_qs[ik] += q;
            Qdiags[ik * d + id] = exp(q);
        }
    }

    double slse = 0.;
    for (int ix = 0; ix < n; ix++) {
        for (int ik = 0; ik < k; ik++) {
            const double *Q = &Qdiags[ik * d];
            const double *ltri = &icf[ik * icf_sz + d];
            for (int id = 0; id < d; id++)
                xcentered[id] = x[ix * d + id] - means[ik * d + id];
            for (int id = 0; id < d; id++)
                Qxcentered[id] = Q[id] * xcentered[id];
            int Lparamsidx = 0;
            for (int i = 0; i < d; i++)
                for (int j = i + 1; j < d; j++) {
                    Qxcentered[j] += ltri[Lparamsidx] * xcentered[i];
                    Lparamsidx++;
                }
            main_term[ik] = alphas[ik] + sum_qs[ik] - 0.5 * sqnorm(d, Qxcentered);
        }
        slse += logsumexp(k, main_term);
    }

    double lse_alphas = logsumexp(k, alphas);
    double prior = 0.0;
    for (int ik = 0; ik < k; ik++)
        prior += 0.5 * gamma * gamma * (sqnorm(d, &Qdiags[ik * d]) + sqnorm(icf_sz - d, &icf[ik * icf_sz + d])) - m * sum_qs[ik];
    return CONSTANT + slse - n * lse_alphas + prior;
}

/* ADBench's bundle adjustment: the residual of an observation, and the penalty of its weight. */
#define NCAMPARAMS 11
#define ROT_IDX 0
#define C_IDX 3
#define F_IDX 6
#define X0_IDX 7
#define RAD_IDX 9

static void cross(const double *a, const double *b, double *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static void rodrigues_rotate_point(const double *rot, const double *pt, double *rotatedPt)
{
    double sqtheta = sqnorm(3, rot);
    if (sqtheta != 0) {
        double theta, costheta, sintheta, theta_inverse, w[3], w_cross_pt[3], tmp;
        int i;
        theta = sqrt(sqtheta);
        costheta = cos(theta);
        sintheta = sin(theta);
        theta_inverse = 1.0 / theta;
        for (i = 0; i < 3; i++)
            w[i] = rot[i] * theta_inverse;
        cross(w, pt, w_cross_pt);
        tmp = (w[0] * pt[0] + w[1] * pt[1] + w[2] * pt[2]) * (1. - costheta);
        for (i = 0; i < 3; i++)
            rotatedPt[i] = pt[i] * costheta + w_cross_pt[i] * sintheta + w[i] * tmp;
    } else {
        double rot_cross_pt[3];
        cross(rot, pt, rot_cross_pt);
        for (int i = 0; i < 3; i++)
            rotatedPt[i] = pt[i] + rot_cross_pt[i];
    }
}

static void radial_distort(const double *rad_params, double *proj)
{
    double rsq = sqnorm(2, proj);
    double L = 1. + rad_params[0] * rsq + rad_params[1] * rsq * rsq;
    proj[0] = proj[0] * L;
    proj[1] = proj[1] * L;
}

static void project(const double *cam, const double *X, double *proj)
{
    double Xo[3], Xcam[3];
    for (int i = 0; i < 3; i++)
        Xo[i] = X[i] - cam[C_IDX + i];
    rodrigues_rotate_point(&cam[ROT_IDX], Xo, Xcam);
    proj[0] = Xcam[0] / Xcam[2];
    proj[1] = Xcam[1] / Xcam[2];
    radial_distort(&cam[RAD_IDX], proj);
    for (int i = 0; i < 2; i++)
        proj[i] = proj[i] * cam[F_IDX] + cam[X0_IDX + i];
}

void ba_reproj_error(const double cam[NCAMPARAMS], const double X[3], const double *w, const double feat[2], double err[2])
{
    double proj[2];
    project(cam, X, proj);
    for (int i = 0; i < 2; i++)
        err[i] = (*w) * (proj[i] - feat[i]);
}

void ba_weight_error(const double *w, double *werr)
{
    *werr = 1 - (*w) * (*w);
}

/* ADBench's LSTM. */
static double sigmoid(double x) { return 1. / (1. + exp(-x)); }

static void lstm_model(int hsize, const double *weight, const double *bias, double *hidden, double *cell, const double *input)
{
    double gates[4 * hsize];
    double *forget = gates;
    double *ingate = gates + hsize;
    double *outgate = gates + 2 * hsize;
    double *change = gates + 3 * hsize;
    for (int i = 0; i < hsize; i++) {
        forget[i] = sigmoid(input[i] * weight[i] + bias[i]);
        ingate[i] = sigmoid(hidden[i] * weight[hsize + i] + bias[hsize + i]);
        outgate[i] = sigmoid(input[i] * weight[2 * hsize + i] + bias[2 * hsize + i]);
        change[i] = tanh(hidden[i] * weight[3 * hsize + i] + bias[3 * hsize + i]);
    }
    for (int i = 0; i < hsize; i++)
        cell[i] = cell[i] * forget[i] + ingate[i] * change[i];
    for (int i = 0; i < hsize; i++)
        hidden[i] = outgate[i] * tanh(cell[i]);
}

static void lstm_predict(int l, int b, const double *w, const double *w2, double *s, const double *x, double *x2)
{
    for (int i = 0; i < b; i++)
        x2[i] = x[i] * w2[i];
    double xp[b];
    for (int i = 0; i < b; i++)
        xp[i] = x2[i];
    for (int i = 0; i <= 2 * l * b - 1; i += 2 * b) {
        lstm_model(b, &w[i * 4], &w[(i + b) * 4], &s[i], &s[i + b], xp);
        for (int j = 0; j < b; j++)
            xp[j] = s[i + j];
    }
    for (int i = 0; i < b; i++)
        x2[i] = xp[i] * w2[b + i] + w2[2 * b + i];
}

double lstm_objective(int l, int c, int b, const double *main_params, const double *extra_params, const double *state,
                      const double *sequence)
{
    double total = 0.0, s[2 * l * b], ypred[b], ynorm[b];
    for (int i = 0; i < 2 * l * b; i++)
        s[i] = state[i];
    for (int t = 0; t < (c - 1) * b; t += b) {
        lstm_predict(l, b, main_params, extra_params, s, &sequence[t], ypred);
        double sum = 0.0;
        for (int i = 0; i < b; i++)
            sum += exp(ypred[i]);
        double lse = log(sum + 2);
        for (int i = 0; i < b; i++)
            ynorm[i] = ypred[i] - lse;
        for (int i = 0; i < b; i++)
            total += sequence[t + b + i] * ynorm[i];
    }
    return -total / ((c - 1) * b);
}
