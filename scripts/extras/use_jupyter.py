"""A widget with the page inside."""

import hardmax as hx

widget = hx.widget(hx.limit(hx.preset("square-ties")))
assert "anywidget" in str(type(widget).__mro__)
