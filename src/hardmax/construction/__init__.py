"""A data set becomes a transformer: one file per stage of the proof; `build.construct` tells the story."""
