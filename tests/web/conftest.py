"""One application with its workers for all tests of the server that need no network."""

import pytest

from asgi_client import Client
from hardmax.web.app import create_app
from hardmax.web.pool import Pool


@pytest.fixture(scope="session")
def pool():
    workers = Pool({"model": "imdb", "data": None, "data_name": "imdb"}, workers=2)
    yield workers
    workers.close()


class _KeepOpen:
    """The application closes its pool when it ends; this one belongs to the session."""

    compiling = False

    def __init__(self, pool):
        self.submit, self.setup = pool.submit, pool.setup

    def prepare(self, *jobs):
        pass

    compile = stop = close = prepare


@pytest.fixture(scope="session")
def app(pool):
    return create_app(pool=_KeepOpen(pool))


@pytest.fixture(scope="session")
def client(app):
    return Client(app)
