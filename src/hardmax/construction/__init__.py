"""Builds an exact transformer from a data set: one file per stage of the proof; `build.construct` tells the story."""
