"""The demo, on few examples: it must run to its end and leave a picture."""

import numpy as np
import pytest

from frugalsvm.compiling.memory import peak_megabytes


def test_demo_prints_a_table_and_saves_a_picture(tmp_path, capsys):
    pytest.importorskip("rich")
    pytest.importorskip("matplotlib")
    from frugalsvm.demo import main

    main(["--examples", "20000", "--budget", "30", "--output", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "frugalsvm" in printed
    assert "sklearn SVC" in printed
    assert (tmp_path / "demo.png").stat().st_size > 10_000
    assert printed.rstrip().endswith("frugalsvm train table.csv -o model.frugal")  # what to try next


def test_peak_memory_grows_with_what_is_touched():
    before = peak_megabytes()
    np.ones(2**24)  # 128 MB
    assert peak_megabytes() >= before
    assert peak_megabytes() > 50
