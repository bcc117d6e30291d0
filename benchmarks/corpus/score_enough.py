#!/usr/bin/env python3
"""Is one answer enough to fix the bug? Tokens and facts of a reporter's output over the suites of make_enough.py.

    score_enough.py --python VENV/bin/python [--work DIR] [--only e1,e9] [--json OUT] -- COMMAND...

COMMAND runs as score.py runs it: in a fresh copy of each suite, with CLAUDECODE=1 and that interpreter's bin
directory first on PATH; what an agent would see is its stdout followed by its stderr. The interpreter needs pytest,
and hypothesis for e3 (left out without it). Tokens are o200k.

facts.json has for each suite what an answer must say: `any` of these texts (white space does not count; `re:` begins a
regular expression), where `before` is given earlier than any of those. The share is by weight. Read as FILE:LINE are
    File "FILE", line LINE          FILE::NAME :LINE          FILE:LINE > :LINE > :LINE
and a bare :LINE belongs to the last file named before it, one in a line ::NAME :LINE to the last line that was just a
file. FILE::{a,b} is FILE::a FILE::b. JSON is read as TYPE: MESSAGE, FILE:LINE and `3 failed`.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SCRUB = ("CI", "BUILD_NUMBER", "COLUMNS", "PYTEST_ADDOPTS", "FORCE_COLOR", "NO_COLOR", "PYTHONPATH", "VIRTUAL_ENV")
COUNT_TOKENS = """
import { readFileSync } from 'node:fs';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
const texts = JSON.parse(readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(texts.map(t => encode(t, { allowedSpecial: 'all' }).length)));
"""


def count_tokens(texts, work):
    """o200k tokens of each text; the npm package gpt-tokenizer is installed into the work directory."""
    if not (work / "node_modules/gpt-tokenizer").exists():
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(work), "gpt-tokenizer"], check=True)
    (work / "count_texts.mjs").write_text(COUNT_TOKENS)
    done = subprocess.run(["node", str(work / "count_texts.mjs")], input=json.dumps(list(texts)), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def environment(python):
    env = {k: v for k, v in os.environ.items() if k not in SCRUB}
    return env | {"PATH": f"{pathlib.Path(python).parent}:{env['PATH']}", "CLAUDECODE": "1", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


def squeeze(text):
    return re.sub(r"\s+", " ", re.sub(r"(?m)^(INTERNALERROR>|\s*E(?=\s)|>)", "", text))


def words(value):
    """A JSON value as a text would say it."""
    if isinstance(value, list):
        return [word for item in value for word in words(item)]
    if not isinstance(value, dict):
        return [str(value)]
    place = [f"{value[f]}:{value[n]}" for f in ("file", "path") for n in ("line", "lineno") if f in value and n in value]
    cause = [f"{value[t]}: {value['message']}" for t in ("type", "exception") if t in value and "message" in value]
    return place + cause + [word for k, v in value.items() for word in ([f"{v} {k}"] if isinstance(v, int) else words(v))]


def spoken(text):
    """The text, with what is JSON in it (the whole, or a line) in words."""
    for pieces in ([text], text.splitlines()):
        said = []
        for piece in pieces:
            try:
                said += words(json.loads(piece)) if piece.lstrip()[:1] in ("{", "[") else [piece]
            except ValueError:
                said.append(piece)
        if said != pieces:
            return "\n".join(said)
    return text


def places(text):
    """Every FILE:LINE that the text means, one a line."""
    found, file, head = [], "", ""
    for line in text.splitlines():
        if re.fullmatch(r"[\w./-]+\.\w+:?", line.strip()):
            head = line.strip().rstrip(":")
        if line.lstrip().startswith("::"):
            file = head
        for m in re.finditer(r'([\w./-]+\.\w+)\\*", line (\d+)|([\w./-]*\w\.[A-Za-z]\w*)(?::(\d+))?|(?<![\w:.]):(\d+)(?!\d)', line):
            file = m[1] or m[3] or file
            if number := m[2] or m[4] or m[5]:
                found.append(f"{file}:{number}")
    return "\n".join(found)


def braces(text):
    """FILE::{a,b} written out, one a line."""
    return "\n".join(m[1] + name + m[3] for m in re.finditer(r"([\w/.:\[-]*)\{([^{}\n]*)\}([\w\].-]*)", text) for name in m[2].split(","))


def pattern(alternative):
    if alternative.startswith("re:"):
        return re.compile(alternative[3:])
    words = r"\s+".join(re.escape(word) for word in alternative.split())
    return re.compile((r"(?<!\d)" if alternative[0].isdigit() else "") + words + (r"(?!\d)" if alternative[-1].isdigit() else ""))


def says(fact, text):
    """Does the text state this fact?"""
    text = spoken(text)
    views = [text, squeeze(text), places(text), braces(text)]
    if "before" not in fact:
        return any(pattern(a).search(view) for a in fact["any"] for view in views)
    first, other = ([m.start() for a in fact[key] if (m := pattern(a).search(text))] for key in ("any", "before"))
    return bool(first) and (not other or min(first) < min(other))


def score(facts, text):
    """The share of the facts that the text states, by weight, and those that it does not."""
    missing = [fact for fact in facts if not says(fact, text)]
    return 1 - sum(f["weight"] for f in missing) / sum(f["weight"] for f in facts), [f["fact"] for f in missing]


def answer(command, project, python, seconds):
    """What an agent sees of one run, with paths as the project sees them, and the exit code."""
    try:
        run = subprocess.run(command, cwd=project, env=environment(python), capture_output=True, stdin=subprocess.DEVNULL, timeout=seconds)
        code, seen = run.returncode, run.stdout + run.stderr
    except subprocess.TimeoutExpired as late:
        code, seen = "timeout", (late.stdout or b"") + (late.stderr or b"")
    return seen.decode(errors="replace"), code


def installed(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--python", required=True, help="interpreter of the projects; its bin directory comes first on PATH")
    ap.add_argument("--work", default=os.path.join(tempfile.gettempdir(), "proctor-enough"))
    ap.add_argument("--corpus", help="existing suites; else make_enough.py makes them in the work directory")
    ap.add_argument("--facts", default=str(HERE / "facts.json"))
    ap.add_argument("--only", default="")
    ap.add_argument("--seconds", type=float, default=300, help="limit for one suite")
    ap.add_argument("--json")
    ap.add_argument("command", nargs="+")
    a = ap.parse_args()
    base, python = pathlib.Path(a.work), str(pathlib.Path(a.python).absolute())
    (base / "out").mkdir(parents=True, exist_ok=True)
    corpus = pathlib.Path(a.corpus or base / "enough")
    if not a.corpus:
        subprocess.run([sys.executable, str(HERE / "make_enough.py"), str(corpus)], check=True, stdout=subprocess.DEVNULL)
    rows = []
    for name, suite in json.loads(pathlib.Path(a.facts).read_text()).items():
        if a.only and name.partition("_")[0] not in a.only.split(","):
            continue
        if "needs" in suite and not installed(python, suite["needs"]):
            print(f"{name}: left out, no {suite['needs']}")
            continue
        project = base / "project"
        shutil.rmtree(project, ignore_errors=True)
        shutil.copytree(corpus / name, project, symlinks=True)
        text, code = answer([*a.command, *suite.get("targets", [])], project, python, a.seconds)
        (base / "out" / f"{name}.txt").write_text(text)
        share, missing = score(suite["facts"], text.replace(f"{project}/", ""))
        weight = sum(f["weight"] for f in suite["facts"])
        rows.append(dict(suite=name, rc=code, text=text, share=share, weight=weight, missing=missing))
    for row, tokens in zip(rows, count_tokens([row.pop("text") for row in rows], base)):
        row["tokens"] = tokens
        print(f"{row['suite']:26} {tokens:>6} tokens  facts {100 * row['share']:3.0f} %  rc {row['rc']}  {'missing: ' if row['missing'] else ''}{'; '.join(row['missing'])}")
    weight = sum(row["weight"] for row in rows)
    known = sum(row["share"] * row["weight"] for row in rows)
    print(f"total {sum(row['tokens'] for row in rows)} tokens, facts {100 * known / max(weight, 1):.1f} % by weight, suites with all: {sum(not row['missing'] for row in rows)}/{len(rows)}")
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
