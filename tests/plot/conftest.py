"""Pictures are figures of pyplot, as `plt.show()` needs them; tests leave none behind."""

import matplotlib
import pytest

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")
