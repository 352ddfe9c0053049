"""For all tests: the shapes in signatures are checked, and Ctrl-C reaches the programs that tests start.

A shell without job control starts background jobs with the interrupt signal ignored, and children inherit that; tests
that interrupt a run would then wait for its end.
"""

import os
import signal
import threading

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["HARDMAX_CHECK_SHAPES"] = "1"  # before any test imports hardmax; see hardmax.shapes
