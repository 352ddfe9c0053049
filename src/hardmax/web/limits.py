"""Limits on sizes and times: everything that a request can ask for is bounded."""

BODY_BYTES = 1_000_000  # of a request; a longer one is refused before it is read whole
DISCARDED_BYTES = 64_000_000  # of such a request, so that its client reads the answer
DISCARD_SECONDS = 5.0  # for them
BODY_SECONDS = 15.0  # for a request's body to arrive
HEADER_SECONDS = 10.0  # for a request's first lines to arrive
READ_SECONDS = 120.0  # for a client to read an answer that does not fit into its buffers
CONNECTIONS = 512  # open at one time

WORK_SECONDS = 15.0  # one computation; the process that takes longer is ended and replaced
START_SECONDS = 60.0  # a worker's start: imports and the model
COMPILE_AFTER_SECONDS = 5.0  # from the start of the server
COMPILE_SECONDS = 1800.0  # compiling everything in the background, once per installation
CORPUS_SECONDS = 300.0  # reading and predicting the sample of reviews, once, in the background
WORKERS = 3  # computations at one time
WAITING = 256  # computations that may wait for their turn
WAIT_SECONDS = 30.0  # longest wait for a turn

TOKENS = 5_000
DIM = 16
LAYERS = 1_000
COORDINATES = 1_000_000  # (layers + 1) n d of one answer
FOLLOWED = 2_000_000  # indices in all follow sets of one answer
TEXT = 20_000  # characters
TRACE = 400_000  # coordinates of a text's way through the layers
SEQUENCES = 12
SEQUENCE_TOKENS = 20
SIZE = 1e9  # of a coordinate

SAMPLE = 1_000  # reviews of the corpus screen
PAGE = 25  # reviews of one page of it
EXCERPT = 240  # characters

SERVED_BYTES = 16_000_000  # a request to hardmax serve
SERVED_TEXTS = 10_000  # to label in one request
SERVED_EXPLAINED = 200  # to explain in one request
SERVED_TEXT = 1_000_000  # characters
STOP_SECONDS = 30  # for answers on their way when hardmax serve is told to end
