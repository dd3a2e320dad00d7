"""The page in a real browser, in a wide and in a narrow window; skipped where there is none."""

import json
import os
import re
import shutil
import subprocess

import pytest
from report_support import install

from experiments.report import write_report

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "chrome-headless-shell")
BROWSER = os.environ.get("FRUGALSVM_BROWSER") or next(filter(None, map(shutil.which, _NAMES)), None)

# A window may not be made as narrow as a phone, but a frame may. What the browser has to say is the text of the page.
HARNESS = """<!doctype html><meta charset="utf-8"><body>
<iframe src="report.html" width="{width}" height="800" style="border: 0"></iframe><output></output>
<script>
onload = () => {{
  const page = document.querySelector("iframe").contentDocument;
  const left = row => row.querySelector(":scope > :first-child").getBoundingClientRect().left;
  const table = page.querySelector("table.results"), row = table.querySelector("tbody tr"), wrapper = table.parentNode;
  const before = [left(row), row.cells[1].getBoundingClientRect().left];
  for (const details of page.querySelectorAll("details")) details.open = true;
  wrapper.scrollLeft = 60;
  const links = [...page.querySelectorAll("a[href^='#']")].map(link => link.getAttribute("href").slice(1));
  document.querySelector("output").textContent = JSON.stringify({{
    title: page.title,
    overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    wrapper_overflow: wrapper.scrollWidth - wrapper.clientWidth,
    first_column_moved: left(row) - before[0],
    next_column_moved: row.cells[1].getBoundingClientRect().left - before[1],
    n_links: links.length,
    dead_links: links.filter(name => page.getElementById(name) === null),
    requests: page.defaultView.performance.getEntriesByType("resource").map(entry => entry.name),
    smallest_drawing: Math.min(...[...page.querySelectorAll("svg")].map(svg => svg.getBoundingClientRect().width)),
  }});
  console.log("measured");
}};
</script>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the page is."""
    if BROWSER is None:
        pytest.skip("there is no Chromium here (set FRUGALSVM_BROWSER to one)")
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        write_report(install(patch, folder), "full", folder / "report.html")
    return folder


@pytest.fixture(params=[400, 1280])
def seen(request, folder):
    """What the browser measures in a window of a width, and what its console says."""
    harness = folder / "harness.html"
    harness.write_text(HARNESS.format(width=request.param))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    command += [f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", "--window-size=1400,900"]
    done = subprocess.run(
        [*command, "--dump-dom", harness.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    measured = json.loads(re.search(r"<output>(.*?)</output>", done.stdout, flags=re.DOTALL).group(1))
    return {**measured, "width": request.param, "console": re.findall(r"CONSOLE.*?\] (.*)", done.stderr)}


def test_the_page_fits_its_window_and_all_of_it_works(seen):
    assert seen["title"].startswith("Five papers")
    assert [line.split(",")[0] for line in seen["console"]] == ['"measured"']  # the harness's own, and no error
    assert seen["requests"] == []
    assert seen["overflow"] <= 0
    assert seen["n_links"] > 10
    assert seen["dead_links"] == []
    assert seen["smallest_drawing"] >= 390
    if seen["width"] == 400:
        # The table scrolls inside its wrapper, and the names of its rows stay.
        assert seen["wrapper_overflow"] > 60
        assert seen["next_column_moved"] == -60
        assert seen["first_column_moved"] == 0
