"""One vocabulary (docs/glossary.rst): phrases that must not come back into messages, help, docstrings and pages."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from spoken import of_file, sayings

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.rst") if "_build" not in path.parts)]

# What must not be said, and what is said instead. Each has an example that shows that it is found.
PHRASES = {
    r"\bfore(told|tell|tells)\b": ("predicted", "labels foretold"),
    r"\bheld rows\b": ("validation set", "accuracy on held rows"),
    r"\bthat is none\b": ("not a ...", "a model file that is none"),
    r"\bdoes not get on\b": ("makes no progress", "The solver does not get on"),
    r"\b(goes|go|went) on (from|at|learning|bit|alone|where|until)\b": ("continues", "it goes on at example 0"),
    r"\banew\b": ("again", "compiles anew"),
    r"\b(learn|learns) on[.,:;]": ("learn more rows", "cannot learn on:"),
    r"(?<!there )\b(is|are) no (numbers?|class(es)?|classifier|estimator|transformer|matrix)\b(?! (of|that|with))": (
        "is not a ...",
        "which are no numbers",
    ),
    r"\bthis is no\b": ("this is not a", "This is no model file"),
    r"(\b(two|three|one|\d+)|\{\}) (classes|rows|batches|examples) at least\b": (
        "at least two",
        "with {} rows at least",
    ),
    r"\bby (its )?name or (its )?(place|number)\b": ("by name or index", "column by name or number"),
    r"\b(penalty of errors|the penalty lambda|penalty parameter)\b": ("regularization strength", "Penalty of errors"),
    r"\b(takes?|in) the place of (a )?(C|alpha|the kernel)\b": ("replaces", "takes the place of C"),
    r"\bhas not the\b": ("does not have the", "an array has not the size"),
    r"\bmulti-class\b": ("multiclass", "multi-class problems"),
    r"\bone[ -]against[ -](all|the[ -]rest|one)\b": ("one-vs-rest, one-vs-one", "learned one against the rest"),
    r"\bnumbers? that (is|are) nothing\b": ("zero", "numbers that are nothing"),
    r"\bwith commas\b": ("comma-separated", "labels, with commas"),
    r"\bfor so long at most\b": ("time limit", "Compare for so long at most"),
    r"\b(seen|guessed|chosen) otherwise\b": ("default: detected", "seen otherwise"),
    # What has to be read twice.
    r"\bas if it were (not )?there\b": ("is ignored", "counts as if it were there"),
    r"\bpredicted rightly\b": ("predicted correctly", "rows that were predicted rightly"),
    r"\band they him\b": ("...", "keep them alive, and they him"),
    r"\bzero, for good\b": ("zero from then on", "None is zero, for good"),
    r"\bmost stupid\b": ("trivial", "the most stupid prediction"),
    r"\bno matter of those\b": ("does not concern", "is no matter of those who use it"),
    r"\b(is|are) told (and|in)\b": ("described, printed", "which is told in the theory"),
    r"\bso many\b": ("this number of", "after so many rows"),
    # American spelling, of the words that occur here.
    r"\b\w*(colour|neighbour|favour|behaviour|labell|modell|cancell(ed|ing))\w*": ("color, label, ...", "colours"),
    r"\b(centre|centred|centres|metre|analyse|analysed|grey|programme|artefacts?)\b": ("center, ...", "the centre"),
    r"\b(normal|standard|regular|optim|minim|maxim|general|initial|summar|penal|random)is(e|es|ed|ing|ation)\b": (
        "-ize",
        "normalised",
    ),
}


def found(text):
    """The phrases in a text, and what to say instead."""
    plain = " ".join(text.split())
    return [
        f"{match[0]!r} (say: {instead})"
        for phrase, (instead, _) in PHRASES.items()
        for match in re.finditer(phrase, plain, re.IGNORECASE)
    ]


@pytest.mark.parametrize(("phrase", "words"), [(phrase, example) for phrase, (_, example) in PHRASES.items()])
def test_each_phrase_is_found(phrase, words):
    assert re.search(phrase, words, re.IGNORECASE)


def test_sources():
    said = sayings()
    assert len(said) > 8000  # or the search finds nothing any more
    assert {one.kind for one in said} == {"comment", "docstring", "help", "message", "string"}
    problems = {f"{one.file}:{one.line}: {problem}" for one in said for problem in found(one.text)}
    assert not problems, "\n".join(sorted(problems))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages(page):
    if page.name == "glossary.rst":
        pytest.skip("it says which words are not used")
    problems = found(page.read_text())
    assert not problems, "\n".join(problems)


def test_help_of_the_command_line():
    typer = pytest.importorskip("typer")
    app = import_module("frugalsvm.cli.app").app
    commands = typer.main.get_command(app).commands
    assert {"train", "predict", "evaluate"} <= commands.keys()
    for name, command in commands.items():
        texts = [command.help or "", *(getattr(parameter, "help", None) or "" for parameter in command.params)]
        assert not found(" ".join(texts)), name
        for parameter in command.params:
            shown = getattr(parameter, "help", "")
            assert shown, f"{name} {parameter.name} has no help"
            assert shown[0].isupper() or shown.startswith(("libsvm", "-")), f"{name} {parameter.name}: {shown}"
            assert shown.endswith("."), f"{name} {parameter.name}: {shown}"


def test_where_texts_are_looked_for(tmp_path):
    code = tmp_path / "_code.py"
    code.write_text(
        '"""Of the module."""\n'
        "def public(x):\n"
        '    """Of the function."""\n'
        '    raise ValueError(f"No {x} here, "\n        "nor there.")\n'
        "# A comment\n"
        "# of two lines\n"
        "def _private():  # at the end\n"
        '    """Of a private one."""\n'
        '    warn("Be careful.")\n'
        '    option(help="Say more.")\n'
        '    words = f"{x} rows"\n'
    )
    assert {(one.kind, one.text) for one in of_file(code, "_code.py")} >= {
        ("message", "No {} here, nor there."),
        ("message", "Be careful."),
        ("help", "Say more."),
        ("string", "{} rows"),
        ("docstring", "Of the module."),
        ("docstring", "Of the function."),
        ("docstring", "Of a private one."),
        ("comment", "A comment of two lines at the end"),
    }
