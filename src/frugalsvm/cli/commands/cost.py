"""``frugalsvm cost``: what a training would take."""

from typing import Annotated

import typer

from frugalsvm.cli.errors import reported
from frugalsvm.cli.flags import Json


def cost(
    rows: Annotated[int, typer.Option(min=1, help="Number of training rows.")],
    features: Annotated[int, typer.Option(min=1, help="Number of features.")],
    budget: Annotated[
        int, typer.Option(min=2, help="Number of support vectors, or of landmarks (asset); auto chooses by itself.")
    ] = 500,
    classes: Annotated[int, typer.Option(min=2, help="Number of classes.")] = 2,
    passes: Annotated[int, typer.Option(min=1, help="Number of passes over the data (bsgd).")] = 1,
    algorithm: Annotated[str, typer.Option("--algorithm", "-a", help="Algorithm: auto, bsgd or asset.")] = "bsgd",
    speed: Annotated[
        float, typer.Option(help="How many times faster this machine is than one thread of the reference.")
    ] = 1.0,
    as_json: Json = False,
) -> None:
    """Estimate seconds and memory of a training from the size of the data."""
    from frugalsvm.cli.console import Printer, print_json, table_of

    with reported():
        from frugalsvm.cost import training_cost

        found = training_cost(algorithm, rows, features, budget=budget, n_classes=classes, n_passes=passes, speed=speed)
        if as_json:
            print_json(found._asdict())
            return
        shown = {
            "kernel values": f"{found.kernel_values:,}",
            "seconds, about": f"{found.seconds:.2g}" if found.seconds < 100 else f"{found.seconds:,.0f}",
            "model": f"{found.model_bytes / 1024:,.1f} KB",
            "memory of training, beside the rows": f"{found.training_bytes / 2**20:,.1f} MB",
        }
        Printer().print(table_of("", [{"what": name, "value": value} for name, value in shown.items()]))
