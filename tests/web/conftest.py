"""One application with its workers for all tests of the server that need no network."""

import asyncio

import httpx
import pytest

from hardmax.web.app import create_app
from hardmax.web.pool import Pool


@pytest.fixture(scope="session")
def pool():
    workers = Pool({"model": "imdb", "data": None, "data_name": "imdb"}, workers=2)
    yield workers
    workers.close()


class _KeepOpen:
    """The application closes its pool when it ends; this one belongs to the session."""

    def __init__(self, pool):
        self.submit, self.setup = pool.submit, pool.setup

    def prepare(self, *jobs):
        pass

    def close(self):
        pass


@pytest.fixture(scope="session")
def app(pool):
    return create_app(pool=_KeepOpen(pool))


class Client:
    """Requests to an application in this process, one event loop for each: the application keeps none."""

    def __init__(self, app, base_url="http://127.0.0.1"):
        self.app, self.base_url = app, base_url

    def request(self, method, path, **options):
        async def ask():
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=self.base_url, timeout=300) as opened:
                return await opened.request(method, path, **options)

        return asyncio.run(ask())

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)


@pytest.fixture(scope="session")
def client(app):
    return Client(app)
