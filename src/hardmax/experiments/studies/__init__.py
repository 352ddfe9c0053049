"""Three studies: finite depth, robustness, ablation. `python -m hardmax.experiments.studies` runs them."""
