"""Arms, wheels and filters."""
import numpy as np


def rot_z(q):
    c, s = np.cos(q), np.sin(q)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rot_x(q):
    c, s = np.cos(q), np.sin(q)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def arm_tip(q1, q2, q3, l1=1.0, l2=0.8):
    """Position of the tip of an arm with three joints."""
    R = rot_z(q1) @ rot_x(q2)
    elbow = R @ np.array([0.0, l1, 0.0])
    tip = elbow + R @ rot_x(q3) @ np.array([0.0, l2, 0.0])
    return tip


def planar_arm(q):
    """Tip of a chain of four links of one length."""
    a, b, c, d = q
    angles = [a, a + b, a + b + c, a + b + c + d]
    x = sum(np.cos(t) for t in angles)
    y = sum(np.sin(t) for t in angles)
    return x, y


def unicycle_step(x, y, theta, v, omega, dt=0.1):
    if abs(omega) > 1e-6:
        r = v / omega
        x_new = x + r * (np.sin(theta + omega * dt) - np.sin(theta))
        y_new = y - r * (np.cos(theta + omega * dt) - np.cos(theta))
    else:
        x_new = x + v * dt * np.cos(theta)
        y_new = y + v * dt * np.sin(theta)
    return x_new, y_new, theta + omega * dt


def quaternion_rotate(q, v):
    w, x, y, z = q
    n = w * w + x * x + y * y + z * z
    u = np.array([x, y, z])
    t = 2 * np.cross(u, v) / n
    return v + w * t + np.cross(u, t)


def reprojection(point, focal, k1, observed):
    """Residual of a point in a camera with one coefficient of distortion."""
    px, py, pz = point
    ox, oy = observed
    xn, yn = px / pz, py / pz
    r2 = xn ** 2 + yn ** 2
    d = focal * (1 + k1 * r2)
    return d * xn - ox, d * yn - oy


def inertia_energy(omega, J: "Float[Array, '3 3']"):
    return 0.5 * omega @ J @ omega


def pid(error, previous, total, kp=1.0, ki=0.1, kd=0.05, limit=2.0):
    total = np.clip(total + error, -limit, limit)
    u = kp * error + ki * total + kd * (error - previous)
    return np.clip(u, -limit, limit)


def smooth_path(p, weight=0.5):
    """Cost of a path: length and bending."""
    step = np.diff(p)
    bend = np.diff(step)
    return np.sum(step ** 2) + weight * np.sum(bend ** 2)


def range_bearing(px, py, lx, ly):
    dx, dy = lx - px, ly - py
    rng = np.sqrt(dx ** 2 + dy ** 2)
    bearing = np.arctan2(dy, dx)
    return rng, bearing
