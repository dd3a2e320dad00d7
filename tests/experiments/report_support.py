"""An invented paper: one table with a cell of every kind and one figure, on work that takes no time."""

from experiments import command, protocol
from experiments.data import UNAVAILABLE
from experiments.printed import Printed
from experiments.results import Cell, Experiment, Figure, Table
from experiments.store import Store
from experiments.tasks import Task

README = """# Invented <machines>: a paper

Protocol `one`, with [a table](table.csv), a [page](https://example.org/paper) and ![a picture](picture.png).

## Deviations

| what | why |
|---|---|
| fewer rows | <script>alert("time")</script> |
"""
PROTOCOL = """
[invented-table]
data = ["banana", "ccat"]
grid = { alpha = [0.1, 1.0], gamma = [2] }
[invented-table.quick]
repetitions = 1
[invented-table.full]
repetitions = 5
[invented-figure]
[invented-broken]
"""
PRINTED = "experiment,row,column,mean,spread\ninvented-table,method A,banana,89.5,0.3\n"
WORSE = "Two passes and a finer grid were tried: <b>no</b> change."


def nothing(settings, seed):
    """Work for tasks."""
    return {"value": settings["value"] + seed}


def choice(settings, seed):
    return {"chosen": {"tuned": {"alpha": settings["best"]}}}


def _plan(profile, choices):
    task = Task("report_support:nothing", {"value": 1})
    choosing = Task("report_support:choice", {"best": 0.1})
    chosen = Task("report_support:nothing", {"value": 2}, names={"row": "chosen"})
    return [task, Task("report_support:nothing", {"value": 5}), choices.task(chosen, "banana 100", choosing)]


def _show_table(outcome):
    cells = {
        ("method A", "banana"): Cell([90.0, 90.2], Printed(89.5, 0.3)),
        ("method A", "usps & co"): Cell([95.0], Printed(95.25, 0.3)),
        ("method A", "ijcnn1"): Cell([90.0], Printed(92.0, 0.1), WORSE),
        ("method B", "banana"): Cell([], Printed(88.0)),
        ("method B", "usps & co"): Cell([93.5], None),
        ("method B", "ccat"): Cell([], Printed(94.0, 0.1), UNAVAILABLE["ccat"]),
        ("method B", "ijcnn1"): Cell([91.0], Printed(92.0, 0.1), WORSE),
        ("seconds", "banana"): Cell([3.0], Printed(1.0, 0.5), "", lower_is_better=True, counted=False),
    }
    columns = ["banana", "usps & co", "ccat", "ijcnn1"]
    return [Table("Accuracies", ["method A", "method B", "seconds"], columns, cells, note="Of five runs.")]


def _draw(figure):
    axes = figure.subplots()
    axes.plot([1, 10, 100], [70.0, 92.5, 90.0], marker="o", label="ours & <theirs>")
    axes.set(xlabel="examples", ylabel="accuracy", title="banana", xscale="log")
    axes.legend()


def _fail(*anything):
    raise ValueError("no such <curve>")


EXPERIMENTS = [
    Experiment("invented-table", "Table 1: accuracies", _plan, _show_table),
    Experiment(
        "invented-figure",
        "Figure 2: curves",
        _plan,
        lambda outcome: [Figure("Curves", _draw), Figure("More curves", _draw)],
    ),
]
BROKEN = [
    Experiment("invented-table", "Table 1: accuracies", _plan, _fail),
    Experiment("invented-broken", "Figure 3", _plan, lambda outcome: [Figure("Broken", _fail), Figure("Sound", _draw)]),
]


def install(monkeypatch, folder, experiments=EXPERIMENTS):
    """Put the invented paper in the place of all others; its store, with two of three results."""
    (folder / "README.md").write_text(README)
    (folder / "protocol.toml").write_text(PROTOCOL)
    (folder / "printed.csv").write_text(PRINTED)
    found = {experiment.name: ("invented", experiment) for experiment in experiments}
    for module in (protocol, command):
        monkeypatch.setattr(module, "all_experiments", lambda: found)
    monkeypatch.setattr(protocol, "folder_of", lambda paper: folder)
    store = Store(folder / "store")
    store.put(Task("report_support:nothing", {"value": 1}), {"value": 1}, 100.0)
    store.put(Task("report_support:nothing", {"value": 5}), {"value": 5}, 200.0)
    return store
