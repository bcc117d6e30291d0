#!/usr/bin/env python3
"""Tokens and fidelity of a reporter's output over the corpus.

    score.py --python VENV/bin/python [--work DIR] [--only a,f] [--json OUT] -- COMMAND...

COMMAND runs in a fresh copy of each suite, with CLAUDECODE=1 and that interpreter's bin directory first
on PATH; what an agent would see is its stdout followed by its stderr. The interpreter needs pytest.
Truth comes from a recording plugin. Fidelity is the mean of four checks for each failing test: its node
id; exception type and first line of the message; file:line of the innermost project frame; the compared
values of an assertion. Tokens are o200k (npm package gpt-tokenizer, installed into the work directory).

Compact forms are expanded before scoring:
    FILE::{a,b}                      FILE::a FILE::b
    all of FILE [FILE...]            every failing test of those files
    FILE::NAME :LINE                 also FILE:LINE
    FILE alone on a line, then ::NAME :LINE lines      FILE::NAME and FILE:LINE
"""
import argparse
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SCRUB = ("CI", "BUILD_NUMBER", "COLUMNS", "PYTEST_ADDOPTS", "FORCE_COLOR", "NO_COLOR", "PYTHONPATH", "VIRTUAL_ENV")
EXTRA = {"z7_usage_error": ["tests/nope.py"]}

TRUTH_PLUGIN = '''
import json, os
import pytest
DATA = {"failures": [], "counts": {}, "exit": None}
ROOT = None

def frame(excinfo):
    best, tb = None, excinfo.value.__traceback__
    while tb is not None:
        path = tb.tb_frame.f_code.co_filename
        if path.startswith(ROOT + os.sep) and "site-packages" not in path:
            best = (os.path.relpath(path, ROOT), tb.tb_lineno)
        tb = tb.tb_next
    return best

def pytest_configure(config):
    global ROOT
    ROOT = str(config.rootpath)

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    rep = (yield).get_result()
    if rep.failed:
        crash = getattr(rep.longrepr, "reprcrash", None)
        ei = call.excinfo
        DATA["failures"].append(dict(nodeid=rep.nodeid, when=rep.when, type=ei.type.__name__ if ei else "XPASS(strict)",
            message=crash.message if crash else str(rep.longrepr), frame=frame(ei) if ei else None,
            is_assert=bool(ei and issubclass(ei.type, AssertionError)), longrepr=str(rep.longrepr)))

@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    rep = (yield).get_result()
    if rep.failed:
        DATA["failures"].append(dict(nodeid=rep.nodeid, when="collect", type=None, message=str(rep.longrepr), frame=None,
            is_assert=False, longrepr=str(rep.longrepr)))

@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    tr = session.config.pluginmanager.getplugin("terminalreporter")
    DATA["counts"] = {k: len(v) for k, v in tr.stats.items() if k in ("passed", "failed", "error", "skipped", "xfailed", "xpassed")}
    DATA["exit"] = int(exitstatus)
    with open(os.environ["TRUTH_OUT"], "w") as f:
        json.dump(DATA, f)
'''

COUNT_TOKENS = """
import { readFileSync } from 'node:fs';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
const paths = readFileSync(0, 'utf8').split('\\n').filter(Boolean);
const out = {};
for (const p of paths) out[p] = encode(readFileSync(p, 'utf8'), { allowedSpecial: 'all' }).length;
process.stdout.write(JSON.stringify(out));
"""

LABEL = {"passed": "(?:passed|pass|ok)", "failed": "(?:failed|fail|failures?)", "error": "(?:errors?|errored)",
         "skipped": "skip(?:ped)?", "xfailed": "xfail(?:ed)?", "xpassed": "xpass(?:ed)?"}


def squeeze(text):
    return re.sub(r"\s+", " ", text)


def environment(python, **more):
    env = {k: v for k, v in os.environ.items() if k not in SCRUB}
    env.update(PATH=f"{pathlib.Path(python).parent}:{env['PATH']}", CLAUDECODE="1", LANG="C.UTF-8", LC_ALL="C.UTF-8", **more)
    return env


def fresh(suite, work):
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(suite, work, symlinks=True)
    return work


def needed_values(failure):
    """Strings that must all be there for the compared values to be known, read off pytest's own text."""
    lines = [l for l in failure["longrepr"].splitlines() if l.startswith("E")]
    if not lines:
        return None
    indent = len(re.match(r"E\s*", lines[0]).group())
    lines = [l[indent:] for l in lines if l[indent:].strip()]
    if not lines:
        return None
    first = re.sub(r"^AssertionError: ", "", lines[0].strip())
    if not first.startswith("assert "):
        return [first]
    if "..." not in first:
        need = [first[len("assert "):]]
        if re.fullmatch(r"assert (not )?(True|False|None|\d+)", first):
            need += [l.strip().lstrip("+ ") for l in lines[1:] if "where" in l][:1]
        return need
    diff = [l[2:] if l.startswith("  ") else l for l in lines[1:]]
    diff = [d for d in diff if re.match(r"[-+] ", d) and not re.match(r"\+\s+where", d) and not d.endswith("...") and len(d) > 3]
    return ["\0" + d for d in diff] or [l.strip() for l in lines[1:]]


def truth_of(suite, python, work):
    out = work.parent / "truth.json"
    out.unlink(missing_ok=True)
    plugins = work.parent / "plugins"
    plugins.mkdir(exist_ok=True)
    (plugins / "truth_plugin.py").write_text(TRUTH_PLUGIN)
    subprocess.run([python, "-m", "pytest", "-p", "truth_plugin", *EXTRA.get(suite.name, [])], cwd=fresh(suite, work), capture_output=True,
                   stdin=subprocess.DEVNULL, env=environment(python, PYTHONPATH=str(plugins), TRUTH_OUT=str(out)))
    needles = json.loads(suite.with_name(suite.name + ".needles.json").read_text())
    if "crash" in needles:
        c = needles["crash"]
        line = next(i for i, l in enumerate((suite / c["file"]).read_text().splitlines(), 1) if "string_at" in l)
        return dict(failures=[dict(nodeid=c["nodeid"], when="crash", type=c["type"], first="", frame=(c["file"], line), values=None)], counts={}, exit=139), needles
    truth = json.loads(out.read_text().replace(f"{work}/", "")) if out.exists() else dict(failures=[], counts={}, exit=None)
    for f in truth["failures"]:
        if f["when"] == "collect":
            last = [l for l in f["longrepr"].splitlines() if l.startswith("E")]
            m = re.match(r"E\s+(\w+): (.*)", last[-1]) if last else None
            if m:
                f["type"], f["message"] = m.group(1), f"{m.group(1)}: {m.group(2)}"
            frames = re.findall(r'^(?:E\s+File ")?([^\s":][^\s":]*\.py)(?::|", line )(\d+)', f["longrepr"], re.M)
            frames = [(p.split(f"/{work.name}/")[-1], int(n)) for p, n in frames if "/lib/python" not in p]
            f["frame"] = frames[-1] if frames else None
        first = f["message"].splitlines()[0] if f["message"] else ""
        f["first"] = re.sub(r"^(?:[\w.]+\.)?%s: " % re.escape(f["type"] or "~"), "", first)
        values = needles.get("values", {}).get(f["nodeid"]) if f["when"] == "call" else None
        if values is None and f["is_assert"] and f["when"] == "call" and not needles:
            values = needed_values(f)
        f["values"] = values
    call, setup, teardown = ({f["nodeid"] for f in truth["failures"] if f["when"] == w} for w in ("call", "setup", "teardown"))
    late = teardown - call - setup  # passed, then broke in teardown: pytest tallies both, we count the test once, as an error
    collect = sum(f["when"] == "collect" for f in truth["failures"])
    truth["per_test"] = {"passed": truth["counts"].get("passed", 0) - len(late), "error": len(setup | late) + collect}
    return truth, needles


def expand(text, truth):
    out, file, name = [text], None, ""
    for line in text.splitlines():
        bare = line.strip()
        if re.fullmatch(r"[\w/.-]+\.py", bare):
            file = bare
        for m in re.finditer(r"([\w/.-]+\.py)::(.*?) :(\d+)(?!\d)", line):
            out.append(f"{m[1]}:{m[3]}")
        for m in re.finditer(r"([\w/.-]+\.py):(\d+)((?: > :\d+)+)", line):
            out += [f"{m[1]}:{n}" for n in re.findall(r":(\d+)", m[3])]
        m = re.match(r"::(.+?) :(\d+)(?!\d)", bare)
        if m and file:
            name = m[1]
            out += [f"{file}::{name}", f"{file}:{m[2]}"]
            out += [f"{file}:{n}" for n in re.findall(r"> :(\d+)", bare)]
        elif bare.startswith("::") and file:
            out += [f"{file}::{n}" for n in _braces(bare[2:])]
        m = re.match(r"(\[.*?\])(?: |$)", bare)
        if m and file and name:
            out.append(f"{file}::{name.partition('[')[0]}{m[1]}")
        m = re.match(r"([\w/.-]+\.py::(?:\w+::)*)(\w*\{.*\})(?: :\d+.*)?$", bare)
        if m:
            out += [m[1] + n for n in _braces(m[2])]
        if bare.startswith("all of "):
            files = re.findall(r"[\w/.-]+\.py", bare)
            out += [f["nodeid"] for f in truth["failures"] if f["nodeid"].partition("::")[0] in files]
    return "\n".join(out)


def _braces(text):
    m = re.fullmatch(r"(.*?)\{(.*)\}(.*)", text)
    if not m:
        return [text]
    parts, depth, cur = [], 0, ""
    for ch in m[2]:
        depth += (ch == "[") - (ch == "]")
        if ch == "," and depth <= 0:
            parts.append(cur)
            cur = ""
        else:
            cur += ch
    return [m[1] + p + m[3] for p in [*parts, cur]]


def variants(text):
    acc = []

    def flatten(o):
        if isinstance(o, dict):
            o = list(o.values())
        if isinstance(o, list):
            for v in o:
                flatten(v)
        elif isinstance(o, str):
            acc.append(o)

    for piece in [text, *text.splitlines()]:
        if piece[:1] in "{[":
            try:
                flatten(json.loads(piece))
            except ValueError:
                pass
    out = []
    for v in [text, html.unescape(text), *(["\n".join(acc)] if acc else [])]:
        out += [v, squeeze(re.sub(r"(?m)^(\s*E(?=\s)|>)", "", v))]
    return list(dict.fromkeys(out))


def has(views, needle):
    if needle.startswith("\0"):
        pattern = r"(?m)^[ \tE>]*" + re.escape(needle[1:]).replace("\\-\\ ", "\\- ").rstrip() + r"[ \t]*$"
        return any(re.search(pattern, v) for v in views)
    return any(squeeze(needle).strip() in v or needle in v for v in views)


def score_one(f, views, raw):
    tail = "" if f["nodeid"].endswith("]") else r"(?![\w\[]|::)"
    node = any(re.search(r"(?<![\w/])" + re.escape(f["nodeid"]) + tail, v) for v in views)
    if f["when"] == "crash":
        message = bool(re.search(r"(?i)segmentation fault|SIGSEGV|signal 11", raw))
    elif f["type"] == "XPASS(strict)":
        message = bool(re.search(r"(?i)xpass|unexpected(ly)? (success|pass)", raw))
    else:
        need = squeeze(f["first"]).strip()[:150 if len(f["first"]) > 300 else None]
        message = any(need in squeeze(v) and (need.startswith("assert ") or (f["type"] or "") in v) for v in views)
    place = None
    if f["frame"]:
        p, n = re.escape(f["frame"][0]), f["frame"][1]
        pats = [rf"{p}:{n}(?!\d)", rf'{p}\\?", line {n}(?!\d)', rf'{p}"[^\n]{{0,120}}?"(?:line|lineno)":\s*{n}(?!\d)']
        place = any(re.search(x, v) for x in pats for v in views)
    values = all(has(views, x) for x in f["values"]) if f["values"] else None
    if values and not message and f["first"].startswith("assert ") and "assert" in raw:
        message = True  # a rewritten assert has no message of its own: its values are its message
    return node, message, place, values


def counts_missing(truth, raw):
    """Non-zero counts that the output does not give: pytest's tally of reports, or ours of tests."""
    def given(k, n):
        return re.search(rf"(?<![\w.]){n}\s*(?:tests?\s+)?{LABEL[k]}\b", raw) or re.search(rf'"{LABEL[k]}"\s*:\s*{n}\b', raw)
    return [f"{n} {k}" for k, n in truth["counts"].items() if n and not any(given(k, m) for m in {n, truth.get("per_test", {}).get(k, n)})]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--python", required=True, help="interpreter of the projects; its bin directory comes first on PATH")
    ap.add_argument("--truth-python", help="one with plain pytest, where --python has plugins that silence it")
    ap.add_argument("--work", default=os.path.join(tempfile.gettempdir(), "proctor-corpus"))
    ap.add_argument("--corpus", help="an existing corpus; else make_corpus.py makes one in the work directory")
    ap.add_argument("--only", default="")
    ap.add_argument("--json")
    ap.add_argument("command", nargs="+")
    a = ap.parse_args()
    base = pathlib.Path(a.work)
    base.mkdir(parents=True, exist_ok=True)
    python = str(pathlib.Path(a.python).absolute())
    corpus = pathlib.Path(a.corpus) if a.corpus else base / "corpus"
    if not a.corpus:
        subprocess.run([sys.executable, str(HERE / "make_corpus.py"), str(corpus)], check=True, stdout=subprocess.DEVNULL)
    if not (base / "node_modules/gpt-tokenizer").exists():
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(base), "gpt-tokenizer"], check=True)
    (base / "count_tokens.mjs").write_text(COUNT_TOKENS)
    (base / "out").mkdir(exist_ok=True)
    suites = sorted(p for p in corpus.iterdir() if p.is_dir() and (not a.only or p.name.startswith(tuple(a.only.split(",")))))
    rows = []
    for suite in suites:
        truth, _ = truth_of(suite, str(pathlib.Path(a.truth_python or python).absolute()), base / "project")
        start = time.monotonic()
        try:
            run = subprocess.run([*a.command, *EXTRA.get(suite.name, [])], cwd=fresh(suite, base / "project"), env=environment(python), capture_output=True, stdin=subprocess.DEVNULL, timeout=300)
            rc, seen = run.returncode, run.stdout + run.stderr
        except subprocess.TimeoutExpired as late:
            rc, seen = "timeout", (late.stdout or b"") + (late.stderr or b"")
        wall = time.monotonic() - start
        path = base / "out" / f"{suite.name}.txt"
        path.write_bytes(seen)
        raw = seen.decode(errors="replace").replace(str(base / "project") + "/", "")
        views = variants(expand(raw, truth))
        checks = [score_one(f, views, raw) for f in truth["failures"]] if suite.name[0] != "z" else []
        share = [[c[i] for c in checks if c[i] is not None] for i in range(4)]
        parts = [round(100 * sum(s) / len(s), 1) if s else None for s in share]
        known = [p for p in parts if p is not None]
        rows.append(dict(suite=suite.name, rc=rc, truth_exit=truth["exit"], wall=round(wall, 2), file=str(path), node=parts[0], message=parts[1], place=parts[2],
                         values=parts[3], fidelity=round(sum(known) / len(known), 1) if known else None, counts_missing=counts_missing(truth, raw),
                         missed=[f["nodeid"] for f, c in zip(truth["failures"], checks) if not all(x in (True, None) for x in c)][:20]))
    tokens = json.loads(subprocess.run(["node", str(base / "count_tokens.mjs")], input="\n".join(r["file"] for r in rows), capture_output=True, text=True, check=True).stdout)
    for r in rows:
        r["tokens"] = tokens[r["file"]]
        print(f"{r['suite']:20} {r['tokens']:>7} tokens  fidelity {r['fidelity']}  rc {r['rc']}/{r['truth_exit']}  {r['wall']:.2f}s  {' '.join(r['counts_missing'])} {' '.join(r['missed'][:3])}")
    scored = [r for r in rows if r["suite"][0] != "z"]
    fid = [r["fidelity"] for r in scored if r["fidelity"] is not None]
    print(f"total {sum(r['tokens'] for r in scored)} tokens, mean fidelity {sum(fid) / len(fid) if fid else 100:.1f}, suites at 100: {sum(f == 100 for f in fid)}/{len(fid)}")
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(rows, indent=1))


main()
