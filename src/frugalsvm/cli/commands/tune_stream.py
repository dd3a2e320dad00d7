"""``frugalsvm tune`` on rows that are read once: candidates learn them side by side, and the best continues."""

from pathlib import Path
from typing import Any

from frugalsvm.cli.commands.candidates import flags_of, options_with, settings_for
from frugalsvm.cli.commands.new_model import classes_for
from frugalsvm.cli.console import tell
from frugalsvm.cli.io.checks import check_classes, check_enough, check_size
from frugalsvm.cli.io.saved_run import save_run
from frugalsvm.cli.io.stream_run import StreamRun
from frugalsvm.cli.options import TrainOptions
from frugalsvm.cli.words.outcome import TuneOutcome, tell_end
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.pipelines.first_rows import Examined, prepared
from frugalsvm.pipelines.prequential import learn_stream
from frugalsvm.pipelines.reading import DataOptions
from frugalsvm.words import counted, percent, short

_COLUMNS = ("kernel", "gamma", "alpha", "C", "budget")
_SHOWN = 9  # candidates in the table


def tune_stream(
    data: DataOptions, options: TrainOptions, budgets: tuple[int, ...], output: Path | None, *, quiet: bool
) -> TuneOutcome:
    """Find the best candidate in one pass; Ctrl-C ends the rows there, and the best so far is the result."""
    search = _Search(data, options, budgets, quiet=quiet)
    with search.interruption.watched():
        search.learn()
    outcome = search.outcome(output)
    if output is not None:
        search.save(output)
    return outcome


class _Search(StreamRun):
    """A search in progress."""

    def __init__(self, data: DataOptions, options: TrainOptions, budgets: tuple[int, ...], *, quiet: bool):
        super().__init__(data, options, quiet=quiet)
        self.budgets = budgets
        self.grid: list[dict[str, Any]] = []

    def learn(self) -> None:
        examined = self.examined()
        self.model, labels = self._begun(examined)
        with self.progress_line(examined.opened.stream) as line:
            learn_stream(
                self.model,
                examined.batches,
                self.progress,
                classes=classes_for(self.model, self.options, {"labels": labels}),
                test=False,  # the search judges rows before it learns them
                show=line.show,
                interruption=self.interruption,
            )
            self.model.flush()
        tell_end(self.data, examined.opened, self.model, quiet=self.quiet)
        if self.interruption.signal_number is not None:
            tell(f"Interrupted after {counted(self.progress.rows, 'row')}; this is the best so far.")

    def _begun(self, examined: Examined) -> tuple[StreamPipeline, list]:
        """A pipeline with all candidates, and the labels of the first rows."""
        options, impute = self.options, self.data.imputes
        for budget in self.budgets:
            check_size(examined, options.algorithm, budget)
        check_classes(examined, options.algorithm, options.classes)
        first = prepared(examined.first, options.scale, impute)
        check_enough(examined, first.y)
        self.grid, tuner = settings_for(first, options, self.budgets)
        model = StreamPipeline(tuner, scale=first.scale, encoder=first.encoder, impute=impute)
        return model, sorted(set(first.y.tolist()))

    # --- what was found ------------------------------------------------------------------------------------

    @property
    def _ranked(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Candidates and what became of them: those that are left before those that were dropped, best first."""
        pairs = list(zip(self.grid, self.model.estimator_.results_, strict=True))
        return sorted(pairs, key=lambda pair: (-(pair[1]["dropped_at"] or float("inf")), -(pair[1]["accuracy"] or 0.0)))

    def _flags(self, settings: dict[str, Any]) -> dict[str, Any]:
        return flags_of(self.options, settings, self.model.scale)

    def save(self, output: Path) -> None:
        """Write the best candidate as a model of its own."""
        settings = self._ranked[0][0]
        best = options_with(self.options, settings, self.model.scale)
        chosen = {"algorithm": best.algorithm, **settings, "scale": self.model.scale}
        chosen["labels"] = self.model.classes_.tolist()
        model = self.model.adopt(self.model.estimator_.best_estimator_)
        save_run(model, output, self.data, best, self.progress, chosen, 1, True)

    def outcome(self, output: Path | None) -> TuneOutcome:
        """What has won, and what became of the others."""
        ranked = self._ranked
        settings, best = ranked[0]
        sentences = [*self._sentences(), *([] if output is None else [f"{output} is the model that has won."])]
        figures = {
            "accuracy": best["accuracy"],
            "rows": self.progress.rows,
            "interrupted": self.interruption.signal_number is not None,
            "sentences": sentences,
            "candidates": [
                {**self._flags(each), **{name: result[name] for name in ("accuracy", "rows", "dropped_at")}}
                for each, result in ranked
            ],
        }
        title = f"{self.data.name}: {counted(len(ranked), 'candidate')}"
        signal = self.interruption.signal_number
        return TuneOutcome(self._flags(settings), title, self._table(), tuple(sentences), figures, signal)

    def _sentences(self) -> list[str]:
        results = [result for _, result in self._ranked]
        left = [result["accuracy"] for result in results if result["dropped_at"] is None]
        sentences = [
            f"All learned {counted(self.progress.rows, 'row')} side by side, in one pass; accuracy is that on rows "
            "before they were learned, the latest above all."
        ]
        if left[0] is None:
            sentences.append("There were too few rows to judge any of them: the first was taken.")
        elif len(left) > 1:
            sentences.append(
                f"The best leads by {100 * (left[0] - left[1]):.2f} points. It and {len(left) - 1} of the others are "
                "still learning: which of these is best may change with more rows."
            )
        elif len(results) > 1:
            sentences.append("The others were dropped on the way, since they were worse by more than chance.")
        return sentences

    def _table(self) -> list[dict[str, str]]:
        rows = []
        for k, (settings, result) in enumerate(self._ranked[:_SHOWN]):
            flags = self._flags(settings)
            became = "best" if k == 0 else "learning" if result["dropped_at"] is None else "dropped"
            shown = {name: short(flags[name]) for name in _COLUMNS if name in flags}
            shown |= {"accuracy": percent(result["accuracy"]), "rows learned": f"{result['rows']:,}", "became": became}
            rows.append(shown)
        return rows
