"""``frugalsvm warm-up``: machine code ahead of time."""

from typing import Annotated

import typer

from frugalsvm.cli.errors import reported
from frugalsvm.cli.flags import Json, Quiet


def warm_up(
    algorithms: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names of `frugalsvm algorithms`, incremental, asset-regressor, text (readers). Default: all."
        ),
    ] = None,
    sparse: Annotated[bool, typer.Option("--sparse", help="Also compile for sparse rows.")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of parallel processes. Default: one per core.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compile machine code ahead, so that no first training waits for it."""
    from frugalsvm.cli.console import Printer, print_json

    with reported():
        from frugalsvm.warming import warm_up as warm_up_now

        printer = Printer()

        def show(done) -> None:
            if not (quiet or as_json):
                what = f"{done.n_compiled} functions compiled" if done.n_compiled else "was there"
                printer.print(f"{done.name:<16} {what}, {done.seconds:.1f} s")

        result = warm_up_now(algorithms or None, sparse=sparse, n_jobs=jobs or -1, on_done=show)
        if as_json:
            algorithms_done = [each._asdict() for each in result.algorithms]
            print_json({"n_compiled": result.n_compiled, **result._asdict(), "algorithms": algorithms_done})
        elif not quiet:
            printer.print(_summary(result))


def _summary(result) -> str:
    what = f"{result.n_compiled} functions compiled" if result.n_compiled else "Everything was there"
    where = (
        "; machine code is not kept on disk here" if result.folder is None else f"; machine code is in {result.folder}"
    )
    return f"{what}, {result.seconds:.1f} s in all{where}."
