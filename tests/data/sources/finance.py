"""Prices and rates."""
from math import erf, exp, log, sqrt

import numpy as np
from scipy.stats import norm


def phi(x):
    return 0.5 * (1.0 + erf(x / sqrt(2.0)))


def black_scholes(S, K, r, sigma, T):
    """Price of a call."""
    d1 = (log(S / K) + (r + 0.5 * sigma ** 2) * T) / (sigma * sqrt(T))
    d2 = d1 - sigma * sqrt(T)
    return S * phi(d1) - K * exp(-r * T) * phi(d2)


def call_and_put(S, K, r, sigma, T):
    d1 = (np.log(S / K) + (r + sigma ** 2 / 2) * T) / (sigma * np.sqrt(T))
    d2 = d1 - sigma * np.sqrt(T)
    disc = np.exp(-r * T)
    call = S * norm.cdf(d1) - K * disc * norm.cdf(d2)
    put = K * disc * norm.cdf(-d2) - S * norm.cdf(-d1)
    return {"call": call, "put": put}


def bond_price(rate, coupon=0.05, years=5):
    price = 0.0
    for t in range(1, years + 1):
        price += coupon * 100 / (1 + rate) ** t
    price += 100 / (1 + rate) ** years
    return price


def annuity(payment, rate, n=12):
    if rate == 0:
        return payment * n
    return payment * (1 - (1 + rate) ** -n) / rate


def binomial_option(S, K, sigma, r=0.02, T=1.0, steps=4):
    """An American put on a small tree."""
    dt = T / steps
    u = exp(sigma * sqrt(dt))
    d = 1 / u
    p = (exp(r * dt) - d) / (u - d)
    values = [max(K - S * u ** j * d ** (steps - j), 0.0) for j in range(steps + 1)]
    for i in range(steps - 1, -1, -1):
        values = [max(K - S * u ** j * d ** (i - j),
                      exp(-r * dt) * (p * values[j + 1] + (1 - p) * values[j]))
                  for j in range(i + 1)]
    return values[0]


def tax(income):
    # brackets with their rates
    brackets = [(0.0, 0.1), (10.0, 0.2), (40.0, 0.3)]
    due = 0.0
    for low, rate in brackets:
        if income > low:
            due += (income - low) * (rate - (0.0 if low == 0 else rate - 0.1))
    return due


def portfolio_variance(w, cov: "Float[Array, 'n n']"):
    return w @ cov @ w


def sharpe(returns, risk_free=0.01):
    excess = returns - risk_free
    return np.mean(excess) / np.std(excess, ddof=1)


def nelson_siegel(t, b0, b1, b2, tau):
    x = t / tau
    slope = (1 - np.exp(-x)) / x
    return b0 + b1 * slope + b2 * (slope - np.exp(-x))
