"""The program of examples/chip on an emulated Cortex-M4 with 16 KB of RAM."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from learning_support import FLAGS, compiled_with

from frugalsvm import BSGDClassifier
from frugalsvm.export import to_c

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "chip"
CORTEX_M4 = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
MAKE = [
    "-nostartfiles",
    "--specs=nosys.specs",
    "-ffunction-sections",
    "-Wl,--gc-sections",
    "-Wl,--no-warn-rwx-segments",
]
MACHINE = ["-M", "mps2-an386", "-nographic", "-semihosting", "-icount", "shift=0"]
TICK = 40  # instructions: the clock of this machine has 25 MHz, and -icount shift=0 has 1000


def new_sensor(folder, maintenance="merge"):
    """A learner that has learned nothing: four features, a hundred support vectors, old rows count less."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(100, 4)).astype(np.float32)
    model = BSGDClassifier(maintenance=maintenance, budget=100, gamma=2.0, alpha=1e-3, half_life=300)
    model.partial_fit(X, (X[:, 0] > 0).astype(int))
    return to_c(model, folder, name="sensor", learn=True, start="empty")[1]


def printed(command):
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=True
    )  # the emulator prints what the chip says on standard error
    numbers: dict[str, list[int]] = {}
    for line in done.stdout.splitlines():
        name, value = line.split()
        numbers.setdefault(name, []).append(int(value))
    return numbers


def on_the_chip(folder, source):
    compiler, emulator = shutil.which("arm-none-eabi-gcc"), shutil.which("qemu-system-arm")
    if compiler is None or emulator is None:
        pytest.skip("there is no arm-none-eabi-gcc or no qemu-system-arm here")
    program = str(folder / "sensor.elf")
    sources = [str(PROGRAM / "startup.c"), str(PROGRAM / "main.c"), str(source)]
    place = [f"-I{folder}", f"-I{PROGRAM}", f"-T{PROGRAM / 'chip.ld'}"]
    subprocess.run([compiler, *FLAGS, *CORTEX_M4, *MAKE, *place, "-o", program, *sources, "-lm"], check=True)
    return printed([emulator, *MACHINE, "-kernel", program])


def on_this_machine(folder, source):
    program = str(folder / "sensor")
    sources = [str(PROGRAM / "host.c"), str(PROGRAM / "main.c"), str(source)]
    compiled_with(f"-I{folder}", f"-I{PROGRAM}", "-o", program, *sources, "-lm")
    return printed([program])


def test_a_stream_is_learned_in_16_kilobytes(tmp_path):
    found = on_the_chip(tmp_path, new_sensor(tmp_path))
    before, _, after, last = found["right"]
    assert before > 750
    assert after < last > 850  # it adapts to the change
    assert found["ram"][0] <= 16 * 1024
    assert found["stack"][0] <= 1024
    assert found["ticks"][0] * TICK < 100_000


def test_a_chip_learns_what_this_machine_learns(tmp_path):
    """Bit for bit where no functions of the C library are needed, which are rounded as it likes."""
    source = new_sensor(tmp_path, "remove")
    there, here = on_the_chip(tmp_path, source), on_this_machine(tmp_path, source)
    for name in ("right", "checksum", "updates"):
        assert there[name] == here[name]
