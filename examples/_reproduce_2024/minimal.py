"""The Puma 560 in six angles: Newton's and Euler's recursion, and the generalised-alpha method on its equations."""

from __future__ import annotations

import time

import numpy as np

import fem_mbs as mbs
from fem_mbs.benchmarks import puma

MASS = np.array([link.mass for link in puma.LINKS])
CENTER = np.array([link.center for link in puma.LINKS])
INERTIA = np.array([link.inertia for link in puma.LINKS])
EXACT = {
    0.5: (-1.04622142130, 0.71992652559, -0.95998707560, 0.78486822948, 0.98032819590, 0.39288946875),
    1.0: (-2.09496870284, 1.04731150560, -3.49084905781, 1.57128774579, 1.57092461826, 0.78534028484),
}
"""Angles in rad at two times in s: these equations by Radau IIA and by Runge-Kutta of eighth order, to 1e-11."""


def cross(a, b):
    """The vector product, quicker than that of NumPy on few vectors."""
    (a0, a1, a2), (b0, b1, b2) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)


def torques(angles, rates, accelerations, gravity=puma.GRAVITY):
    """Torques ``(..., 6)`` that motions ``(..., 6)`` from one position take (Luh, Walker, Paul 1980)."""
    x, R = puma.frames(angles)
    omega = alpha = np.zeros((*np.shape(accelerations)[:-1], 3))
    a = omega + (0, 0, gravity)
    loads = []
    for k in range(6):
        z, way, arm = R[k][:, 2], x[k + 1] - x[k], x[k + 1] - x[k] + R[k + 1] @ CENTER[k]
        rate = rates[..., k, None] * z
        alpha = alpha + accelerations[..., k, None] * z + cross(omega, rate)
        omega = omega + rate
        J = (R[k + 1] * INERTIA[k]) @ R[k + 1].T
        force = MASS[k] * (a + cross(alpha, arm) + cross(omega, cross(omega, arm)))
        loads.append((z, way, force, cross(arm, force) + alpha @ J + cross(omega, omega @ J)))
        a = a + cross(alpha, way) + cross(omega, cross(omega, way))
    result, force, moment = [], 0.0 * a, 0.0 * a
    for z, way, own_force, own_moment in reversed(loads):
        moment = moment + cross(way, force) + own_moment
        force = force + own_force
        result.append(moment @ z)
    return np.stack(result[::-1], axis=-1)


def mass(angles):
    """The matrix of inertia ``(6, 6)``."""
    return torques(angles, np.zeros((6, 6)), np.eye(6), gravity=0.0)


def missing(t, angles, rates, accelerations):
    """What the motors do not give of the torques that a motion takes."""
    given = puma.commanded(t) - puma.P * (angles - puma.START) - puma.D * rates
    return torques(angles, rates, accelerations) - given


def integrate(h, t_end=puma.DURATION, tolerance=1e-8, most=20):
    """Angles at the end, Newton iterations a step, and CPU seconds; nan where Newton's method finds no step.

    In the iteration matrix, inertia is that of the last step, and other derivatives of inertia forces are left out.
    """
    p = mbs.GeneralizedAlpha(0.9).coefficients
    q, v = puma.START.copy(), np.zeros(6)
    a = rates = np.linalg.solve(mass(q), -missing(0.0, q, v, np.zeros(6)))
    begun, iterations, steps = time.process_time(), 0, round(t_end / h)
    for n in range(steps):
        # of the acceleration at the end: the algorithmic one, the increment and the velocity follow
        gain = (1 - p.alpha_f) / (1 - p.alpha_m)
        old = (p.alpha_f * rates - p.alpha_m * a) / (1 - p.alpha_m)
        matrix = mass(q) + np.diag(h * p.gamma * gain * puma.D + h * h * p.beta * gain * puma.P)
        inverse, new = np.linalg.inv(matrix), rates
        for _ in range(most):
            ahead = old + gain * new
            place = q + h * v + h * h * ((0.5 - p.beta) * a + p.beta * ahead)
            speed = v + h * ((1 - p.gamma) * a + p.gamma * ahead)
            left = missing((n + 1) * h, place, speed, new)
            if np.abs(left).max() < tolerance:
                break
            new = new - inverse @ left
            iterations += 1
        else:
            return np.full(6, np.nan), np.nan, np.nan
        q, v, a, rates = place, speed, ahead, new
    return q, iterations / steps, time.process_time() - begun
