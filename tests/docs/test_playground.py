"""The playground of the documentation: in WebAssembly without a browser, and in a real one."""

import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
from contextlib import contextmanager, nullcontext
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "chrome-headless-shell")
BROWSER = os.environ.get("FRUGALSVM_BROWSER") or next(filter(None, map(shutil.which, _NAMES)), None)

# A page in a frame of some width, which is clicked as people do. What it has to say is the text of the page.
HARNESS = """<!doctype html><meta charset="utf-8"><body>
<iframe src="playground.html" width="{width}" height="900" style="border: 0"></iframe><output></output>
<script>
onload = async () => {{
  const frame = document.querySelector("iframe"), page = frame.contentDocument;
  const wait = milliseconds => new Promise(done => setTimeout(done, milliseconds));
  const root = page.querySelector(".playground"), canvas = page.querySelector("canvas");
  while (root.dataset.ready !== "yes") await wait(20);
  const shown = name => page.querySelector(`[data-show=${{name}}]`).textContent;
  const click = (x, y) => {{
    const box = canvas.getBoundingClientRect();
    const clientX = box.left + (x + 1) / 2 * box.width, clientY = box.top + (1 - y) / 2 * box.height;
    canvas.dispatchEvent(new frame.contentWindow.MouseEvent("click", {{ clientX, clientY, bubbles: true }}));
  }};
  const press = key => canvas.dispatchEvent(new frame.contentWindow.KeyboardEvent("keydown", {{ key, bubbles: true }}));
  const found = {{}};
  page.querySelector("[data-do=reset]").click();
  for (let k = 0; k < 60; ++k) {{  // two classes, left and right
    page.querySelector(`[data-label="${{k % 2}}"]`).click();
    click((k % 2 ? 0.5 : -0.5) + 0.3 * Math.sin(k), 0.8 * Math.cos(3 * k));
  }}
  found.clicked = [shown("rows"), shown("accuracy"), shown("vectors"), shown("bytes")];
  press("ArrowRight");
  press("2");
  found.spoken = shown("spoken");
  found.budget = [];
  for (const policy of ["merge", "project", "remove"]) {{
    const select = page.querySelector("[data-set=policy]");
    select.value = policy;
    select.dispatchEvent(new frame.contentWindow.Event("input", {{ bubbles: true }}));
    for (let k = 0; k < 3000; ++k) root.playground.add(root.playground.drawn());
    root.playground.render();
    found.budget.push([policy, shown("accuracy"), shown("vectors"), shown("error")]);
  }}
  found.files = [root.playground.exported("headers"), root.playground.exported("sources")];
  found.overflow = page.documentElement.scrollWidth - page.documentElement.clientWidth;
  found.requests = frame.contentWindow.performance.getEntriesByType("resource").map(entry => entry.name);
  found.unnamed = [...page.querySelectorAll("button, select, input")].filter(each =>
    !(each.textContent.trim() || each.labels?.length)).length;
  document.querySelector("output").textContent = JSON.stringify(found);
}};
</script>"""


@pytest.fixture(scope="module")
def playground():
    """The extension of the documentation."""
    spec = importlib.util.spec_from_file_location("playground", DOCS / "_ext" / "playground.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if module.compiler() is None:
        pytest.skip("there is no compiler for WebAssembly here")
    return module


@pytest.fixture(scope="module")
def engine(playground):
    """The learners, in an engine without a browser: functions and memory."""
    wasmtime = pytest.importorskip("wasmtime")
    store = wasmtime.Store()
    module = wasmtime.Module(store.engine, playground.built()[0])
    double = wasmtime.ValType.f64()

    def given(name):
        numbers = [double] * (2 if name == "pow" else 1)
        return wasmtime.Func(store, wasmtime.FuncType(numbers, [double]), getattr(math, name))

    exports = wasmtime.Instance(store, module, [given(each.name) for each in module.imports]).exports(store)
    return store, exports


@pytest.fixture(scope="module")
def wasm(engine):
    """Calls a function of the learners."""
    store, exports = engine
    return lambda name, *arguments: exports[name](store, *arguments)


def spiral(n_classes, n_rows=4000):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n_rows, 2))
    arm = (np.arctan2(X[:, 1], X[:, 0]) + 3 * np.hypot(X[:, 0], X[:, 1])) / (2 * np.pi)
    return X.tolist(), (np.floor(arm % 1 * n_classes).astype(int) % n_classes).tolist()


@pytest.mark.parametrize("place", range(6))
def test_all_models_learn(place, wasm):
    n_classes = 2 + place % 2
    wasm("play_begin", place, 40, 12.0, 1 / 3000, 1e15)
    right = []
    for (x, y), label in zip(*spiral(n_classes), strict=True):
        right.append(wasm("play_predict", x, y) == label)
        assert wasm("play_learn", x, y, label) == 0
    removes = place >= 4
    assert np.mean(right[-1000:]) > (0.6 if removes else 0.9)
    assert wasm("play_vectors") <= 40
    assert wasm("play_save") > 0


def test_a_wrong_label_is_refused(wasm):
    wasm("play_begin", 0, 10, 1.0, 1e-3, 1e15)
    assert wasm("play_learn", 0.0, 0.0, 2) == 2


def test_the_picture_has_the_colors_of_the_predictions(engine, wasm):
    store, exports = engine
    wasm("play_begin", 1, 30, 8.0, 1 / 3000, 1e15)
    for (x, y), label in zip(*spiral(3, n_rows=500), strict=True):
        wasm("play_learn", x, y, label)
    start, width = wasm("play_map", 0, 1), 48
    pixels = np.frombuffer(exports["memory"].read(store, start, start + 4 * width**2), np.uint8).reshape(
        width, width, 4
    )
    middles = (np.arange(width) + 0.5) * 2 / width - 1
    colors = {}
    for i, y in enumerate(-middles):
        for j, x in enumerate(middles):
            colors.setdefault(wasm("play_predict", x, y), set()).add(tuple(pixels[i, j, :3].tolist()))
    assert sorted(colors) == [0, 1, 2]
    assert sorted(map(len, colors.values())) == [1, 1, 1]
    assert len(set.union(*colors.values())) == 3


def test_the_page_is_small_and_asks_nobody(playground):
    text = playground.page()
    assert len(text.encode()) <= 300 * 1024
    assert 'id="playground"' not in text  # a section of the documentation has it
    scripts = text.split('id="playground-data">')
    assert not re.search(r"https?://|//[a-z]", scripts[0] + scripts[1].split("</script>")[1])


@contextmanager
def served(folder):
    """The address of a server that has the files of a folder."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module", params=[(400, "file"), (1000, "server")], ids=lambda each: f"{each[0]} {each[1]}")
def seen(request, playground, tmp_path_factory):
    """What happens in a browser, with a page of some width from a file or from a server."""
    if BROWSER is None:
        pytest.skip("there is no Chromium here (set FRUGALSVM_BROWSER to one)")
    folder = tmp_path_factory.mktemp("playground")
    (folder / "playground.html").write_text(playground.page())
    width, origin = request.param
    (folder / "harness.html").write_text(HARNESS.format(width=width))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    command += [f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", "--window-size=1200,950"]
    command += ["--virtual-time-budget=60000", "--dump-dom"]
    with served(folder) if origin == "server" else nullcontext(folder.as_uri()) as address:
        command.append(f"{address}/harness.html")
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found = re.search(r"<output>(.*?)</output>", done.stdout, flags=re.DOTALL)
    assert found is not None
    assert found.group(1), done.stderr[-3000:]
    text = found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return {**json.loads(text), "console": re.findall(r"CONSOLE.*?\] (.*)", done.stderr)}


def percent(text):
    return float(text.split()[0])


def test_clicks_and_keys_teach(seen):
    n_rows, accuracy, vectors, n_bytes = seen["clicked"]
    assert n_rows == "60"
    assert percent(accuracy) > 85
    assert re.fullmatch(r"\d+ of 30", vectors)
    assert n_bytes == "1,440 bytes"
    assert seen["spoken"].startswith("61 rows learned")


def test_policies_keep_the_budget(seen):
    for policy, accuracy, vectors, error in seen["budget"]:
        assert percent(accuracy) > (55 if policy == "remove" else 75)
        assert vectors == "30 of 30"
        assert float(error) >= 0


def test_the_page_fits_and_is_quiet(seen):
    assert seen["overflow"] <= 0
    assert seen["requests"] == []
    assert seen["console"] == []
    assert seen["unnamed"] == 0


def test_what_is_downloaded_compiles_and_is_the_model(seen, tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    for name, text in zip(("model.h", "model.c"), seen["files"], strict=True):
        (tmp_path / name).write_text(text)
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "model.h"\nstatic model_context self;\nint main(void) {\n    model_init(&self);\n'
        '    printf("%lu %lu\\n", (unsigned long)self.n_slots, (unsigned long)sizeof self);\n    return 0;\n}\n'
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    files = [str(tmp_path / name) for name in ("main.c", "model.c")]
    subprocess.run([compiler, *flags, "-o", str(tmp_path / "main"), *files, "-lm"], check=True)
    done = subprocess.run([str(tmp_path / "main")], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["30", "1440"]
