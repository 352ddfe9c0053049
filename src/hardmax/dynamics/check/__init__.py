"""Independent checkers of certificates. They share no code with the solvers, so they may repeat on purpose."""
