/* ADBench's objective: a mixture of Gaussians with a Wishart prior. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ADBench's hand tracking: the distances of measured points from a hand whose bones are posed by theta. */
#define FINGERS 1
#define BONES (4 * FINGERS + 2)
#define VERTICES 4
#define POINTS 2
static const int PARENT[BONES] = {-1, 0, 1, 2, 3, 0};
static const int TRIANGLE[2][3] = {{0, 1, 2}, {1, 3, 2}};
static const int NEAREST[POINTS] = {1, 0};

static void matmul(int n, int m, int k, const double *A, const double *B, double *C)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < k; j++) {
            double sum = 0.0;
            for (int l = 0; l < m; l++)
                sum += A[i * m + l] * B[l * k + j];
            C[i * k + j] = sum;
        }
}

static void angle_axis_to_rotation(const double *v, double *R)
{
    double angle = sqrt(sqnorm(3, v));
    if (angle < 1e-4) {
        for (int i = 0; i < 9; i++)
            R[i] = i % 4 == 0 ? 1.0 : 0.0;
        return;
    }
    double x = v[0] / angle, y = v[1] / angle, z = v[2] / angle, s = sin(angle), c = cos(angle);
    R[0] = x * x + (1 - x * x) * c; R[1] = x * y * (1 - c) - z * s; R[2] = x * z * (1 - c) + y * s;
    R[3] = x * y * (1 - c) + z * s; R[4] = y * y + (1 - y * y) * c; R[5] = y * z * (1 - c) - x * s;
    R[6] = x * z * (1 - c) - y * s; R[7] = z * y * (1 - c) + x * s; R[8] = z * z + (1 - z * z) * c;
}

/* The turns about x, then y, then z, as one transform; the angles stand as x, z, y. */
static void euler_to_transform(const double xzy[3], double T[4][4])
{
    double sx = sin(xzy[0]), cx = cos(xzy[0]), sz = sin(xzy[1]), cz = cos(xzy[1]), sy = sin(xzy[2]), cy = cos(xzy[2]);
    double R[4][4] = {{cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz, 0},
                      {cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz, 0}, {-sy, sx * cy, cx * cy, 0}, {0, 0, 0, 1}};
    memcpy(T, R, sizeof R);
}

/* The columns of a pose: rotation, scale and translation of the hand, two of the wrist, then four of each finger. */
static void to_pose_params(const double *theta, double pose[BONES + 3][3])
{
    memset(pose, 0, (BONES + 3) * 3 * sizeof(double));
    for (int i = 0; i < 3; i++) {
        pose[0][i] = theta[i];
        pose[1][i] = 1.0;
        pose[2][i] = theta[3 + i];
    }
    int at = 6, column = 5;
    for (int finger = 0; finger < FINGERS; finger++) {
        for (int joint = 2; joint <= 4; joint++) {
            pose[column][0] = theta[at++];
            if (joint == 2)
                pose[column][1] = theta[at++];
            column++;
        }
        column++;
    }
}

static void vertex_positions(const double *theta, double base_relatives[BONES][4][4], double inverse_base_absolutes[BONES][4][4],
                             double base_positions[VERTICES][4], double weights[VERTICES][BONES], int is_mirrored,
                             double positions[VERTICES][3])
{
    double pose[BONES + 3][3], absolute[BONES][4][4], transform[BONES][4][4], turn[4][4], relative[4][4], R[9];
    to_pose_params(theta, pose);
    for (int b = 0; b < BONES; b++) {
        euler_to_transform(pose[b + 3], turn);
        if (PARENT[b] == -1)
            matmul(4, 4, 4, &base_relatives[b][0][0], &turn[0][0], &absolute[b][0][0]);
        else {
            matmul(4, 4, 4, &base_relatives[b][0][0], &turn[0][0], &relative[0][0]);
            matmul(4, 4, 4, &absolute[PARENT[b]][0][0], &relative[0][0], &absolute[b][0][0]);
        }
        matmul(4, 4, 4, &absolute[b][0][0], &inverse_base_absolutes[b][0][0], &transform[b][0][0]);
    }
    angle_axis_to_rotation(pose[0], R);
    for (int v = 0; v < VERTICES; v++) {
        double p[3] = {0.0, 0.0, 0.0};
        for (int b = 0; b < BONES; b++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 4; j++)
                    p[i] += weights[v][b] * transform[b][i][j] * base_positions[v][j];
        if (is_mirrored)
            p[0] = -p[0];
        for (int i = 0; i < 3; i++) {
            positions[v][i] = pose[2][i];
            for (int j = 0; j < 3; j++)
                positions[v][i] += R[3 * i + j] * pose[1][j] * p[j];
        }
    }
}

void hand_objective(const double theta[6 + 4 * FINGERS], double base_relatives[BONES][4][4],
                    double inverse_base_absolutes[BONES][4][4], double base_positions[VERTICES][4],
                    double weights[VERTICES][BONES], int is_mirrored, double points[POINTS][3], double err[3 * POINTS])
{
    double positions[VERTICES][3];
    vertex_positions(theta, base_relatives, inverse_base_absolutes, base_positions, weights, is_mirrored, positions);
    for (int k = 0; k < POINTS; k++)
        for (int i = 0; i < 3; i++)
            err[3 * k + i] = points[k][i] - positions[NEAREST[k]][i];
}

void hand_objective_complicated(const double theta[6 + 4 * FINGERS], const double us[2 * POINTS],
                                double base_relatives[BONES][4][4], double inverse_base_absolutes[BONES][4][4],
                                double base_positions[VERTICES][4], double weights[VERTICES][BONES], int is_mirrored,
                                double points[POINTS][3], double err[3 * POINTS])
{
    double positions[VERTICES][3];
    vertex_positions(theta, base_relatives, inverse_base_absolutes, base_positions, weights, is_mirrored, positions);
    for (int k = 0; k < POINTS; k++) {
        const double *u = &us[2 * k];
        const int *corner = TRIANGLE[NEAREST[k]];
        for (int i = 0; i < 3; i++)
            err[3 * k + i] = points[k][i] - (u[0] * positions[corner[0]][i] + u[1] * positions[corner[1]][i]
                                             + (1.0 - u[0] - u[1]) * positions[corner[2]][i]);
    }
}
