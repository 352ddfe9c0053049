"""Three studies with random clouds and real reviews: finite depth, robustness, ablation. `hardmax study` runs them."""
