"""Who follows whom: the rules, exact follow sets, the fast kernels."""
