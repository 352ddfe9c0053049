"""For all tests: Ctrl-C reaches the programs that tests start.

A shell without job control starts background jobs with the interrupt signal ignored, and children inherit that; tests
that interrupt a run would then wait for its end.
"""

import signal
import threading

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
