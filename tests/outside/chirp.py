"""A law of time from outside: a sine whose frequency grows."""

from math import cos, sin

from fem_mbs.contracts import TimeLaw


class Chirp(TimeLaw):
    """``a sin(w t^2)``."""

    def __init__(self, a, w):
        self.a, self.w = a, w

    def __call__(self, t):
        return self.a * sin(self.w * t**2)

    def velocity(self, t):
        return 2 * self.a * self.w * t * cos(self.w * t**2)

    def acceleration(self, t):
        return 2 * self.a * self.w * (cos(self.w * t**2) - 2 * self.w * t**2 * sin(self.w * t**2))
