"""Compilation, threads and vector code: the only place that knows numba."""
