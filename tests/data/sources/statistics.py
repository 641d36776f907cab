"""Likelihoods and summaries."""
import numpy as np
import scipy.special as sp
from scipy.special import gammaln, logsumexp


def normal_logpdf(x, mu, sigma):
    z = (x - mu) / sigma
    return -0.5 * z ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)


def normal_loglik(x, mu, sigma):
    """Of independent observations."""
    n = len(x)
    return -0.5 * np.sum(((x - mu) / sigma) ** 2) - n * np.log(sigma) - 0.5 * n * np.log(2 * np.pi)


def poisson_loglik(k: np.ndarray, rate: float):
    return np.sum(k * np.log(rate) - rate - gammaln(k + 1))


def beta_logpdf(x, a, b):
    return (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - (sp.gammaln(a) + sp.gammaln(b) - sp.gammaln(a + b))


def logistic_loss(w: np.ndarray, X: "Float[Array, 'n d']", y: "Float[Array, 'n']", l2: float = 0.1):
    """Mean loss of a logistic regression with a penalty."""
    z = X @ w
    loss = np.mean(np.logaddexp(0, z) - y * z)
    return loss + l2 * np.dot(w, w)


def mixture_loglik(x, mu, log_sigma, logits):
    """Of a mixture of normal distributions."""
    log_pi = logits - logsumexp(logits)
    z = (x[:, None] - mu[None, :]) / np.exp(log_sigma)
    log_p = log_pi - log_sigma - 0.5 * z ** 2 - 0.5 * np.log(2 * np.pi)
    return np.sum(logsumexp(log_p, axis=1))


def mvn_logpdf(x, mean, cov: "Float[Array, 'd d']"):
    d = x - mean
    sign, logdet = np.linalg.slogdet(cov)
    return -0.5 * (d @ np.linalg.solve(cov, d) + logdet + len(x) * np.log(2 * np.pi))


def student_t(x, nu):
    return gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) - (nu + 1) / 2 * np.log1p(x ** 2 / nu)


def huber_mean(x, m, delta=1.0):
    r = np.abs(x - m)
    return np.sum(np.where(r <= delta, 0.5 * r ** 2, delta * (r - 0.5 * delta)))


def weighted_variance(x, w):
    mean = np.sum(w * x) / np.sum(w)
    return np.sum(w * (x - mean) ** 2) / np.sum(w)


def ridge(A: "Float[Array, 'm n']", b, lam):
    """Least squares with a penalty: the solution."""
    n = A.shape[1]
    return np.linalg.solve(A.T @ A + lam * np.eye(n), A.T @ b)


def autocovariance(x, lag=1):
    m = x.mean()
    return np.sum((x[lag:] - m) * (x[:-lag] - m)) / len(x)
