"""Other methods of time integration: Radau IIA and Runge-Kutta-Munthe-Kaas on the group."""
