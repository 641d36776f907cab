/* Functions of statistics.py in C. */
#include <math.h>

static double logsumexp(int n, const double *x)
{
    double top = x[0], sum = 0;
    for (int i = 1; i < n; i++)
        top = fmax(top, x[i]);
    for (int i = 0; i < n; i++)
        sum += exp(x[i] - top);
    return top + log(sum);
}

/* Of a mixture of normal distributions. */
double mixture_loglik(int n, int k, const double x[n], const double mu[k], const double log_sigma[k], const double logits[k])
{
    double total = 0, lse = logsumexp(k, logits);
    for (int i = 0; i < n; i++) {
        double p[k];
        for (int j = 0; j < k; j++) {
            double z = (x[i] - mu[j]) / exp(log_sigma[j]);
            p[j] = logits[j] - lse - log_sigma[j] - 0.5 * z * z - 0.5 * log(2 * M_PI);
        }
        total += logsumexp(k, p);
    }
    return total;
}
