"""Property tests from the OpenAPI description: random requests, valid and invalid, against every route."""

import time
import warnings
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings

from asgi_client import Client
from hardmax.web.app import create_app
from hardmax.web.guard import Access

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of what schemathesis itself imports
    import schemathesis
    from schemathesis import checks

CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    checks.unsupported_method,
]


class _PoolOfTheSession:
    """The application is made before the fixtures are; its workers come later."""

    setup: ClassVar = {"data_name": "imdb"}
    compiling = False

    def prepare(self, *jobs):
        pass

    compile = stop = close = prepare


POOL = _PoolOfTheSession()
# schemathesis calls the application "testserver"; every other test keeps the rule about names.
APP = create_app(pool=POOL, access=Access(names=None))
schema = schemathesis.openapi.from_asgi("/api/openapi.json", APP)


@pytest.fixture(autouse=True, scope="module")
def _workers(pool):
    POOL.submit = pool.submit
    # schemathesis waits ten seconds only
    while not Client(APP, "http://testserver").get("/api/corpus").json()["ready"]:
        time.sleep(0.05)


@schema.parametrize()
@settings(
    max_examples=8, derandomize=True, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)  # fmt: skip
def test_every_route_keeps_its_promises(case):
    case.call_and_validate(checks=CHECKS, timeout=300)
