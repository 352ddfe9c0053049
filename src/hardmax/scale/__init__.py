"""The same work many times over: parameter studies on this machine or on a cluster."""
