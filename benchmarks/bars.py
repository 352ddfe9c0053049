"""The requirements of a benchmark, printed as they are met or missed."""


class Bars:
    """Counts what is missed."""

    def __init__(self) -> None:
        self.failed = 0
        self.lines: list[str] = []

    def check(self, ok: bool, text: str) -> None:
        """Print PASS or FAIL."""
        self.failed += not ok
        self.lines.append(text)
        print(f"    {'PASS' if ok else 'FAIL'}  {text}", flush=True)
