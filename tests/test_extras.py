"""What is installed: every extra has a program that uses it, which `make wheel` runs with that extra alone."""

from pathlib import Path

from check_wheel import EXTRAS, PROJECT, ROOT, USES, lowest


def test_every_extra_has_a_program_that_uses_it():
    programs = {path.stem.removeprefix("use_") for path in (ROOT / "scripts" / "extras").glob("use_*.py")}
    assert programs == set(USES)


def test_all_means_all_extras():
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert set(everything.removeprefix("hardmax[").removesuffix("]").split(",")) == set(EXTRAS) - {"all"}


def test_continuous_integration_tries_each_extra_alone():
    (line,) = [line for line in Path(ROOT, ".github/workflows/ci.yml").read_text().splitlines() if "ALONE:" in line]
    assert set(line.split(":", 1)[1].split()) == set(USES)


def test_every_package_has_a_lowest_version():
    named = [*PROJECT["dependencies"], *(line for extra in USES for line in PROJECT["optional-dependencies"][extra])]
    assert {line.split(">")[0].split("=")[0].split("[")[0] for line in named} == {
        line.split("==")[0] for line in lowest()
    }
