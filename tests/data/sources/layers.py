"""Layers and losses of networks, in the styles of NumPy, JAX and PyTorch."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp


def dense(x, W: "Float[Array, 'o i']", b):
    """One layer."""
    return jnp.tanh(W @ x + b)


def mlp_loss(x, y, W1: "Float[Array, 'h i']", b1, W2: "Float[Array, 'o h']", b2):
    h = jax.nn.relu(W1 @ x + b1)
    out = W2 @ h + b2
    return jnp.mean((out - y) ** 2)


def cross_entropy(logits: "Float[Array, 'n k']", targets: "Float[Array, 'n k']"):
    log_p = logits - logsumexp(logits, axis=1, keepdims=True)
    return -jnp.mean(jnp.sum(targets * log_p, axis=1))


def attention(q: "Float[Array, 't d']", k: "Float[Array, 's d']", v: "Float[Array, 's e']"):
    """Scaled products, one head."""
    d = q.shape[-1]
    scores = q @ k.T / jnp.sqrt(d)
    p = jax.nn.softmax(scores, axis=-1)
    return p @ v


def layer_norm(x, gain, bias, eps=1e-5):
    mean = jnp.mean(x)
    var = jnp.mean((x - mean) ** 2)
    return gain * (x - mean) / jnp.sqrt(var + eps) + bias


def gelu_exact(x):
    return x * 0.5 * (1 + jax.scipy.special.erf(x / np.sqrt(2)))


def elu(x, alpha=1.0):
    return jnp.where(x > 0, x, alpha * (jnp.exp(x) - 1))


def rms(x):
    return jnp.sqrt(jnp.sum(jnp.square(x)) / x.shape[0])


def bilinear(x, A: "Float[Array, 'n m']", y):
    return jnp.einsum("i,ij,j->", x, A, y)


def conv1d(x, kernel):
    """A valid convolution, as a sum of shifted copies."""
    n = len(x) - 2
    return kernel[0] * x[:n] + kernel[1] * x[1:n + 1] + kernel[2] * x[2:n + 2]


def contrastive(a, b, c, margin=1.0):
    near = jnp.sum((a - b) ** 2)
    far = jnp.sum((a - c) ** 2)
    return jnp.maximum(0.0, near - far + margin)


def cosine(a, b):
    return a @ b / (jnp.linalg.norm(a) * jnp.linalg.norm(b))
