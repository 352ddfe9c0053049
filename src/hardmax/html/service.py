"""The page of `hardmax serve`: every route with a command that asks it, and what it really answers."""

from typing import Any

from hardmax.html.page import heading, page, render


def service_page(title: str, description: dict[str, Any], examples: dict[str, tuple[str, str]]) -> str:
    """The routes of an OpenAPI description for people, without a script.

    Args:
        description: the OpenAPI document.
        examples: for each path a command, and the answer to it.

    Example:
        >>> about = {"info": {"description": "One route."}, "paths": {"/health": {"get": {"description": "Is it up?"}}}}
        >>> shown = service_page("a server", about, {"/health": ("curl .../health", "{}")})
        >>> "GET /health" in shown and "Is it up?" in shown
        True
    """
    routes = [
        (f"{method.upper()} {path}", operation["description"], *examples[path])
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    return page(title, [heading(title), render("service.html", about=description["info"], routes=routes)])
