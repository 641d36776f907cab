/* Functions of finance.py in C. */
#include <math.h>

static double phi(double x) { return 0.5 * (1.0 + erf(x / sqrt(2.0))); }

double black_scholes(double S, double K, double r, double sigma, double T)
{
    double d1 = (log(S / K) + (r + 0.5 * sigma * sigma) * T) / (sigma * sqrt(T));
    double d2 = d1 - sigma * sqrt(T);
    return S * phi(d1) - K * exp(-r * T) * phi(d2);
}

double tax(double income)
{
    static const double bracket[3] = {0.0, 10.0, 40.0}, rates[] = {0.1, 0.2, 0.3};
    double due = 0.0;
    int k = 0;
    while (k < 3) {
        double low = bracket[k], rate = rates[k];
        if (income > low)
            due += (income - low) * (low == 0 ? rate : 0.1);
        k++;
    }
    return due;
}
