"""What goes in: tokens, distinct points, the matrix A, parameters, presets and generated clouds."""
