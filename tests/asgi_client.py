"""`from asgi_client import Client, run_apart`: requests to an application without a network."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx


def run_apart(coroutine):
    """What a coroutine returns, run in a thread of its own: browser tests leave an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


class Client:
    """Requests to an application in this process, one event loop for each: the application keeps none."""

    def __init__(self, app, base_url="http://127.0.0.1"):
        self.app, self.base_url = app, base_url

    def request(self, method, path, **options):
        async def ask():
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=self.base_url, timeout=300) as opened:
                return await opened.request(method, path, **options)

        return run_apart(ask())

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)
