"""The playground: exported learners as WebAssembly in a page, which learns what is clicked.

``.. playground::`` puts it into a page. It is made of what ``to_c(learn=True)`` writes, compiled by clang and wasm-ld,
or by the compiler of the package ``ziglang``; where neither is there, the page says so.
``python docs/_ext/playground.py FILE`` writes it as a page of its own.
"""

import base64
import json
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from frugalsvm import BSGDClassifier
from frugalsvm.export import to_c

SOURCES = Path(__file__).parents[1] / "_playground"
POLICIES, BUDGET = ("merge", "project", "remove"), 100
VARIABLES = {  # constants of an exported learner that are variables in the page
    "KERNEL_GAMMA": "play_gamma",
    "KERNEL_TWICE_GAMMA": "play_twice_gamma",
    "EXACT_GAMMA": "play_exact_gamma",
    "SCHEDULE_LAMBDA": "play_lambda",
    "SCHEDULE_CLOCK": "play_clock",
}
DECLARED = "\nextern uint32_t play_budget;\nextern float play_gamma, play_twice_gamma;\n"
DECLARED += "extern double play_exact_gamma, play_lambda, play_clock;\n"
FLAGS = ["-std=c99", "-O2", "-fno-builtin", "-nostdlib", "-fvisibility=hidden", "-ffp-contract=off"]
LINKED = ["-Wl,--no-entry", "-Wl,--export-dynamic", "-Wl,--strip-all", "-Wl,-z,stack-size=65536"]
LEFT_OUT = "<p>The playground is left out: this documentation was built without a compiler for WebAssembly.</p>"


def compiler() -> list[str] | None:
    """A compiler for WebAssembly, or None."""
    if shutil.which("clang") and shutil.which("wasm-ld"):
        return ["clang", "--target=wasm32"]
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-freestanding"]
    return None


def learners(folder: Path) -> dict[str, tuple[str, str]]:
    """The exported learners by name: header and source."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(90, 2)).astype(np.float32)
    found = {}
    for policy in POLICIES:
        for n_classes in (2, 3):
            model = BSGDClassifier(maintenance=policy, budget=BUDGET, gamma=1.0, alpha=1e-3, half_life=1000)
            model.partial_fit(X, np.arange(len(X)) % n_classes)
            files = to_c(model, folder, name=f"{policy}{n_classes}", learn=True, start="empty")
            found[f"{policy}{n_classes}"] = tuple(path.read_text() for path in files)
    return found


def with_variables(name: str, header: str, source: str) -> tuple[str, str]:
    """A learner whose settings are variables."""
    macro = name.upper()
    header = re.sub(rf"(#define {macro}_SLOTS) .*", rf"\1 {BUDGET + 1}", header)
    header = re.sub(rf"(#define {macro}_BUDGET) .*", r"\1 play_budget", header)
    for constant, variable in VARIABLES.items():
        source = re.sub(rf"(#define {constant}) .*", rf"\1 {variable}", source)
    return header.replace("#include <stdint.h>\n", f"#include <stdint.h>\n{DECLARED}"), source


@cache
def built() -> tuple[bytes, dict[str, tuple[str, str]]] | None:
    """The learners as WebAssembly, and as they were exported; None without a compiler."""
    command = compiler()
    if command is None:
        return None
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        found = learners(folder)
        for name, texts in found.items():
            for kind, text in zip("hc", with_variables(name, *texts), strict=True):
                (folder / f"{name}.{kind}").write_text(text)
        (folder / "playground.h").write_text("".join(f'#include "{name}.h"\n' for name in found))
        files = [str(SOURCES / "playground.c"), *(str(folder / f"{name}.c") for name in found)]
        places = [f"-I{folder}", f"-I{SOURCES / 'include'}", "-o", str(folder / "playground.wasm")]
        subprocess.run([*command, *FLAGS, *LINKED, *places, *files], check=True)
        return (folder / "playground.wasm").read_bytes(), found


def widget() -> str:
    """The playground as a part of a page."""
    made = built()
    if made is None:
        return LEFT_OUT
    wasm, found = made
    data = {"wasm": base64.b64encode(wasm).decode()}
    data |= {what: {name: texts[k] for name, texts in found.items()} for k, what in enumerate(("headers", "sources"))}
    html, css, js = ((SOURCES / f"playground.{kind}").read_text() for kind in ("html", "css", "js"))
    embedded = json.dumps(data).replace("<", "\\u003c")
    return (
        f'<style>{css}</style>{html}<script type="application/json" id="playground-data">{embedded}</script>'
        f"<script>{js}</script>"
    )


def page() -> str:
    """The playground as a page of its own."""
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>A budgeted SVM learns</title>'
    head += '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
    return f"{head}<body>{widget()}</body></html>"


def setup(app):
    """Register the directive."""
    from docutils import nodes
    from sphinx.util.docutils import SphinxDirective

    class Playground(SphinxDirective):
        def run(self):
            return [nodes.raw("", widget(), format="html")]

    app.add_directive("playground", Playground)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
