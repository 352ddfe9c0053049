"""Studies with random clouds and real reviews; `hardmax study` runs them, docs/studies tells what came out."""
