"""The demonstration: the whole product once, as one HTML report."""
