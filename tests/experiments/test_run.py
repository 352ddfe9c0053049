"""Running items: what is finished is kept, what fails is said, and an interruption loses nothing."""

import json

import pytest

import toy_experiments
from hardmax import __version__
from hardmax.errors import BadInput, MissingExtra
from hardmax.experiments.context import JOURNAL, MODELS, Context, Journal
from hardmax.experiments.item import select
from hardmax.experiments.run import RECORD, finished_in, read_result, run_items
from toy_experiments import CALLS, PACKAGE


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    toy_experiments.install(monkeypatch)


def play(root, *names, **options):
    return list(run_items(select(PACKAGE, names), root, **options))


def test_a_finished_item_has_a_record_with_everything(tmp_path):
    (made,) = play(tmp_path, "dice", seed=3)
    assert (made.status, made.outcome.answer, made.exit_code) == ("made", "2 sixes.", 0)
    assert made.files == ("sixes.csv", "hidden.csv", "throws.json", "a-die.json")
    assert sorted(path.name for path in (tmp_path / "dice").iterdir()) == sorted([*made.files, RECORD])
    assert made.settings == {"hardmax": __version__, "seed": 3, "quick": False, "trials": 15, "sides": (4, 6)}
    assert [table.name for table in made.tables] == ["sixes"]
    data = json.loads((tmp_path / "dice" / "throws.json").read_text())
    assert (data["schema"], data["sixes"], data["provenance"]["seed"]) == ("hardmax.toys.throws/1", 2, 3)
    assert data["settings"]["sides"] == [4, 6]
    record = json.loads((tmp_path / "dice" / RECORD).read_text())
    assert record["schema"] == "hardmax.experiment/1"
    assert (record["paper"], record["differs"], record["numbers"]) == ("1 in 6.", "Chance & luck.", {"sixes": 2})


def test_what_is_finished_with_the_same_settings_is_kept_and_reads_back_the_same(tmp_path):
    (made,), (kept,) = play(tmp_path, "dice"), play(tmp_path, "dice")
    assert CALLS == ["dice", "throws"]
    assert (kept.status, kept.seconds) == ("kept", made.seconds)
    assert kept.outcome == made.outcome
    assert (kept.cases, kept.files, kept.pictures) == (made.cases, made.files, made.pictures)
    assert kept.table("sixes").markdown() == made.table("sixes").markdown()
    assert kept.table("sixes").csv() == made.table("sixes").csv()
    assert list(finished_in(PACKAGE, tmp_path)) == ["dice"]


@pytest.mark.parametrize("change", [{"seed": 1}, {"quick": True}, {"options": {"trials": 3}}], ids=str)
def test_other_settings_are_run_again_or_refused(tmp_path, change):
    play(tmp_path, "dice")
    with pytest.raises(BadInput, match="other settings"):
        play(tmp_path, "coin", "dice", replace=False, **change)
    assert CALLS.count("coin") == 0  # refused before anything runs
    (again,) = play(tmp_path, "dice", **change)
    assert again.status == "made"


def test_another_version_runs_again(tmp_path, monkeypatch):
    play(tmp_path, "coin")
    monkeypatch.setattr("hardmax.experiments.run.__version__", "99.0")
    assert play(tmp_path, "coin")[0].status == "made"


def spoil(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "hardmax.experiment/0"}, {"name": "coin"}, {"group": "claims"}, {"tables": [{"name": "x"}]},
        {"files": ["gone.csv"]}, {"files": ["../dice/sixes.csv"]}, {"numbers": 3}, {"seconds": "long"},
        {"pictures": [{"file": "gone.png", "text": "gone"}]}, {"cases": [{"kind": "cycle", "period": -1}]},
    ],
    ids=str,
)  # fmt: skip
def test_a_record_that_is_damaged_or_lacks_a_file_does_not_count(tmp_path, change):
    play(tmp_path, "dice")
    (dice,) = select(PACKAGE, ["dice"])
    assert read_result(dice, tmp_path) is not None
    spoil(tmp_path / "dice" / RECORD, **change)
    assert read_result(dice, tmp_path) is None
    (tmp_path / "dice" / RECORD).write_text("{")
    assert play(tmp_path, "dice")[0].status == "made"


def test_force_runs_again_and_discards_models_and_finished_parts_but_no_other_files(tmp_path):
    play(tmp_path, "dice")
    (tmp_path / MODELS).mkdir()
    (tmp_path / "dice" / "notes.txt").write_text("mine")
    assert play(tmp_path, "dice", force=True)[0].status == "made"
    assert (tmp_path / MODELS).exists()  # made by somebody else
    assert Context("toys", "dice", tmp_path).shared == tmp_path / MODELS
    CALLS[2:] = []
    assert play(tmp_path, "dice", force=True)[0].status == "made"
    assert CALLS == ["dice", "throws"] * 2
    assert not (tmp_path / MODELS).exists()
    assert (tmp_path / "dice" / "notes.txt").read_text() == "mine"


def test_errors_and_missing_extras_are_results_and_the_others_run(tmp_path):
    made, failed, missing = play(tmp_path, "broken", "lonely", "coin")
    assert made.status == "made"
    assert (failed.status, failed.problem, failed.fix, failed.exit_code) == (
        "failed", "the coin is bent", "take another", BadInput.exit_code,
    )  # fmt: skip
    assert (missing.status, missing.exit_code) == ("missing", MissingExtra.exit_code)
    assert "torch" in missing.problem
    assert not (tmp_path / "broken" / RECORD).exists()


def test_an_interruption_keeps_what_is_finished(tmp_path):
    running = run_items(select(PACKAGE, ["dice", "interrupted", "coin"]), tmp_path)
    assert [next(running).item.name for _ in range(2)] == ["dice", "coin-flip"]
    with pytest.raises(KeyboardInterrupt):
        next(running)
    assert list(finished_in(PACKAGE, tmp_path)) == ["dice", "coin-flip"]


def test_finished_parts_of_an_interrupted_item_are_not_computed_again(tmp_path):
    play(tmp_path, "dice")
    (tmp_path / "dice" / RECORD).unlink()
    play(tmp_path, "dice")
    assert CALLS == ["dice", "throws", "dice"]


def test_a_sweep_says_where_it_is_and_does_not_compute_a_finished_cell_again(tmp_path):
    told, computed = [], []

    def product(x, y):
        computed.append((x, y))
        return x * y

    def sweep(cells):
        context = Context(journal=Journal(tmp_path / JOURNAL), tell=lambda *place: told.append(place))
        return context.sweep(cells, "{} times {}", product)

    assert sweep([(2, 3), (4, 5)]) == {(2, 3): 6, (4, 5): 20}
    assert told == [(0, 2, "2 times 3"), (1, 2, "4 times 5")]
    assert sweep([(4, 5), (6, 7)]) == {(4, 5): 20, (6, 7): 42}
    assert computed == [(2, 3), (4, 5), (6, 7)]


def test_an_incomplete_outcome_ends_the_run_and_is_not_recorded(tmp_path):
    found = list(run_items([*select(PACKAGE, ["partial"]), *select(PACKAGE, ["coin"])], tmp_path))
    assert [result.item.name for result in found] == ["partial"]
    assert finished_in(PACKAGE, tmp_path) == {}


def test_progress_names_the_item_and_its_place(tmp_path):
    told = []
    play(None, "coin", "dice", progress=lambda *given: told.append(given))
    play(None, "dice", progress=lambda *given: told.append(given))
    assert told == [(1, 2, "[1/2] dice: throwing"), (1, 2, "dice: throwing")]


def test_nothing_is_written_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (made,) = play(None, "dice")
    assert (made.files, len(made.tables), len(made.cases)) == ((), 1, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seed", [-1, 1.5, True, "0"])
def test_a_seed_that_is_not_a_whole_number_is_refused(seed):
    with pytest.raises(BadInput, match="seed is"):
        play(None, "coin", seed=seed)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="is a file"):
        play(tmp_path / "file", "coin")
    (result,) = play(tmp_path / "file" / "inside", "dice")
    assert result.status == "failed"
    assert "cannot be created" in result.problem


# -- the context -------------------------------------------------------------------------------------------------------


def test_a_journal_forgets_only_the_line_that_was_cut(tmp_path):
    path = tmp_path / JOURNAL
    Journal(path).put({"seed": 1, "sizes": (1, 2)}, {"accuracy": 0.5})
    path.write_text(path.read_text() + '{"key": "half a li')
    again = Journal(path)
    assert again.get({"sizes": [1, 2], "seed": 1}) == {"accuracy": 0.5}
    assert again.get({"seed": 2}) is None


def test_a_journal_of_another_version_is_not_used(tmp_path, monkeypatch):
    Journal(tmp_path / JOURNAL).put({"seed": 1}, 2)
    monkeypatch.setattr("hardmax.experiments.context.__version__", "99.0")
    assert Journal(tmp_path / JOURNAL).get({"seed": 1}) is None


def square(size):
    from matplotlib.figure import Figure

    return Figure(figsize=(size, size))


def test_a_figure_is_written_twice_and_shown_once(tmp_path, monkeypatch):
    style = pytest.importorskip("hardmax.plot.style")
    monkeypatch.setattr(style, "square", square, raising=False)
    context = Context("toys", "dice", tmp_path)
    context.figure("cloud", "style:square", 1, text="A cloud.", width=30)
    assert context.files == ["cloud.png", "cloud.pdf"]
    assert (tmp_path / "dice" / "cloud.png").read_bytes().startswith(b"\x89PNG")
    assert [(p.file, p.text, p.width) for p in context.pictures] == [("cloud.png", "A cloud.", 30)]


def test_without_matplotlib_the_numbers_are_still_complete(tmp_path, monkeypatch):
    def missing(name):
        raise MissingExtra("matplotlib", "plot", "a picture")

    notes = []
    monkeypatch.setattr("hardmax.experiments.context.import_module", missing)
    context = Context("toys", "dice", tmp_path, note=notes.append)
    context.figure("cloud", "style:square", 1, text="A cloud.")
    assert (context.files, context.pictures) == ([], [])
    assert notes == [
        "dice: the figure cloud is left out: a picture needs the package matplotlib, which is not installed"
    ]


def test_an_item_that_needs_a_folder_and_has_none_says_so():
    with pytest.raises(BadInput, match="dice needs a folder for its files"):
        _ = Context("toys", "dice").shared


def test_a_table_written_again_is_listed_once(tmp_path):
    context = Context("toys", "dice", tmp_path)
    for _ in range(2):
        context.table("t", "", [{"x": 1}], show=False)
    assert context.files == ["t.csv"]
