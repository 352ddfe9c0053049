"""`from asgi_client import Client`: requests to an application without a network."""

import asyncio

import httpx


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
