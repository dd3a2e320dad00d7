"""Tables and figures of experiments, drawn without a screen."""

from experiments.results import Figure, Table


def drawn(figure):
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=figure.size, layout="constrained")
    figure.draw(canvas)
    canvas.draw_without_rendering()
    return canvas


def assert_can_be_shown(experiment, tasks, invented, part):
    """Everything is shown when only the first part of the tasks is done, with invented results."""
    n_done = int(part * len(tasks))
    outcome = [(task, invented(task) if place < n_done else None) for place, task in enumerate(tasks)]
    shown = experiment.show(outcome)
    assert shown
    for one in shown:
        if isinstance(one, Figure):
            assert drawn(one).axes
        else:
            assert isinstance(one, Table)
            assert set(one.cells) <= {(row, column) for row in one.rows for column in one.columns}
