"""The recipes of docs/how-to/big-suites.md are run as far as that is possible here.

Each job has a directory of its own, the variables that the service would set, and only the artifacts of
earlier jobs.
"""

from __future__ import annotations

import glob
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from support.projects import GUARD, clean_environment, project_python, write_project

PAGE = (Path(__file__).parents[1] / "docs/how-to/big-suites.md").read_text()
INSTALL = re.compile(r"python -m pip install proctor( pytest -e \.)?")
SHARDS = 4
BAD = "tests/test_2.py::test_b"
FILES = {
    "pytest.ini": "[pytest]\n",
    **{f"tests/test_{n}.py": "def test_a(): pass\ndef test_b(): pass\n" for n in (1, 3, 4, 5)},
    "tests/test_2.py": "def test_a(): pass\ndef test_b(): assert 0\n",
}


def recipe(first_line: str) -> str:
    """The text of the block that begins with this line."""
    (found,) = re.findall(rf"^```\w+\n({re.escape(first_line)}\n.*?)^```", PAGE, re.M | re.S)
    return str(found)


class Service:
    """Machines of a CI service. What a job uploads is in `artifacts`."""

    def __init__(self, home: Path) -> None:
        self.home, self.artifacts = home, home / "artifacts"
        self.artifacts.mkdir()
        (home / "bin").mkdir()
        script = home / "bin" / "proctor"
        script.write_text(f"#!{sys.executable}\nfrom proctor.cli.main import entry\nentry()\n")
        script.chmod(0o755)
        write_project(home / "project", FILES)
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "one")

    def git(self, *words: str) -> None:
        who = ("-c", "user.name=me", "-c", "user.email=me@example.org")
        command = ("git", "-C", str(self.home / "project"), *who, *words)
        subprocess.run(command, check=True, capture_output=True, timeout=GUARD)

    def machine(self, name: str) -> Path:
        """A new one, with the project."""
        self.git("clone", "-q", ".", str(self.home / name))
        return self.home / name

    def run(self, script: str, where: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.home}/bin:{Path(project_python()).parent}:/usr/bin:/bin"
        return subprocess.run(
            ("sh", "-e", "-c", script),
            cwd=where,
            env=clean_environment(CI="true", PATH=path, **variables),
            capture_output=True,
            text=True,
            timeout=GUARD,
            check=False,
        )

    def upload(self, where: Path, pattern: str) -> None:
        for name in glob.glob(pattern, root_dir=where):
            shutil.copy(where / name, self.artifacts)

    def download(self, where: Path, pattern: str) -> None:
        for path in self.artifacts.glob(pattern):
            shutil.copy(path, where)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def assert_all_ran(ran: subprocess.CompletedProcess[str], document: Path) -> None:
    """One test of ten fails, and the merge says exactly that."""
    assert ran.returncode == 1, ran.stdout + ran.stderr
    tests = {test["node_id"]: test["outcome"] for test in json.loads(document.read_text())["tests"]}
    assert len(tests) == 10
    assert [test for test, outcome in tests.items() if outcome != "passed"] == [BAD]


def assert_named(ran: subprocess.CompletedProcess[str], shard: int) -> None:
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert f"{shard}/{SHARDS}" in ran.stdout
    assert "incomplete" in ran.stdout.lower()


class GitHub:
    """Runs the jobs of a workflow. Of its actions it knows what these recipes need."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.jobs = yaml.safe_load(recipe("# .github/workflows/tests.yml"))["jobs"]

    def run(self, job: str, **matrix: int) -> tuple[subprocess.CompletedProcess[str], Path]:
        """The last command of a job, when it has ended; steps after one that failed run if they are to."""
        name = "-".join([job, *map(str, matrix.values())])
        where, failed = self.service.machine(name), False
        for step in self.jobs[job]["steps"]:
            if failed and step.get("if") != "always()":
                continue
            if "run" in step and not INSTALL.fullmatch(step["run"]):
                ran = self.service.run(filled(step["run"], matrix), where)
                failed = failed or ran.returncode != 0
            elif "uses" in step:
                self.act(step["uses"], {k: filled(v, matrix) for k, v in step.get("with", {}).items()}, where)
        return ran, where

    def act(self, action: str, given: dict[str, str], where: Path) -> None:
        if "upload-artifact" in action:
            self.service.upload(where, given["path"])
        elif "download-artifact" in action:
            self.service.download(where, given.get("pattern") or f"{given['name']}.*")
        elif "cache/save" in action:
            shutil.copy(where / given["path"], self.service.home)
        elif "cache/restore" in action and (self.service.home / given["path"]).exists():
            shutil.copy(self.service.home / given["path"], where)


def filled(text: Any, matrix: dict[str, int]) -> str:
    return re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda found: str(matrix[found[1]]), str(text))


def test_a_github_matrix_is_one_run_and_a_job_that_is_lost_is_named(service: Service) -> None:
    github = GitHub(service)
    assert github.jobs["merge"]["if"] == "always()"
    assert set(github.jobs["merge"]["needs"]) == {"plan", "shard"}
    assert github.jobs["shard"]["strategy"]["fail-fast"] is False
    planned, _ = github.run("plan")
    assert planned.returncode == 0, planned.stderr
    numbers = github.jobs["shard"]["strategy"]["matrix"]["shard"]
    assert numbers == [*range(1, SHARDS + 1)]

    codes = [github.run("shard", shard=number)[0].returncode for number in numbers]
    merged, where = github.run("merge")

    assert sorted(codes) == [0, 0, 0, 1]
    assert_all_ran(merged, where / "timings.json")
    assert (where / "junit.xml").exists()

    (service.artifacts / "shard-3.jsonl").unlink()
    shutil.rmtree(where)
    assert_named(github.run("merge")[0], 3)

    shutil.rmtree(service.home / "plan")
    again, _ = github.run("plan")
    assert "have a time in the reports" in again.stderr, "the cache has those of the last run"


def test_gitlabs_parallel_jobs_are_one_run_and_a_job_that_is_lost_is_named(service: Service) -> None:
    jobs = yaml.safe_load(recipe("# .gitlab-ci.yml"))
    assert all(INSTALL.fullmatch(line) for line in jobs["default"]["before_script"])
    assert jobs["merge"]["when"] == jobs["tests"]["artifacts"]["when"] == "always"
    assert jobs["stages"] == [jobs[name]["stage"] for name in ("plan", "tests", "merge")]

    def run(job: str, name: str, **variables: str) -> tuple[subprocess.CompletedProcess[str], Path]:
        where = service.machine(name)
        service.download(where, "*")  # GitLab gives every job the artifacts of earlier stages
        ran = service.run("\n".join(jobs[job]["script"]), where, **variables)
        for pattern in jobs[job]["artifacts"].get("paths", ()):
            service.upload(where, pattern)
        return ran, where

    assert run("plan", "plan")[0].returncode == 0
    for number in range(1, jobs["tests"]["parallel"] + 1):
        counted = {"CI_NODE_INDEX": str(number), "CI_NODE_TOTAL": str(jobs["tests"]["parallel"])}
        run("tests", f"tests-{number}", **counted)
    merged, where = run("merge", "merge")

    assert_all_ran(merged, where / "timings.json")
    assert (where / jobs["merge"]["artifacts"]["reports"]["junit"]).exists()

    (service.artifacts / "shard-1.jsonl").unlink()
    assert_named(run("merge", "merge-2")[0], 1)


def test_the_indices_of_a_kubernetes_job_are_one_run_and_another_try_counts_once(service: Service) -> None:
    job = yaml.safe_load(recipe("# tests.yaml"))["spec"]
    (container,) = job["template"]["spec"]["containers"]
    assert container["command"] == ["sh", "-c"]
    around = recipe("proctor plan --shards 4 -o /shared/plan.json").splitlines()
    plan, tidy, merge = around[0], around[-2], around[-1]
    shared = service.home / "shared"
    shared.mkdir()

    def run(script: str, name: str, **variables: str) -> subprocess.CompletedProcess[str]:
        inside = f"set +e\n{script}".replace("/shared", str(shared))
        return service.run(inside, service.machine(name), HOSTNAME=name, **variables)

    assert run(plan, "plan").returncode == 0
    for index in range(job["completions"]):
        ended = run(container["args"][0], f"tests-{index}", JOB_COMPLETION_INDEX=str(index))
        assert ended.returncode == 0, "a failed test is a result, and no reason for another try"
    log = shared / "shard-2-tests-1.jsonl"
    (shared / "shard-2-killed.jsonl").write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    (shared / "shard-2-evicted.jsonl").touch()
    merged = run(f"{tidy}\n{merge} -o json=/shared/merged.json", "merge")

    assert_all_ran(merged, shared / "merged.json")

    log.unlink()
    assert run(merge, "merge-2").returncode == 2, "only half of the shard is there"


def test_make_runs_all_shards_whatever_fails_and_the_merge_decides(service: Service) -> None:
    where = service.machine("here")
    (where / "Makefile").write_text(recipe("# Makefile"))

    made = service.run("make -j2 test", where)

    assert made.returncode == 2, "make's own code for a command that failed"
    assert "Error 1" in made.stderr.splitlines()[-1]
    tests = json.loads((where / "build/timings.json").read_text())["tests"]
    assert [test["node_id"] for test in tests if test["outcome"] != "passed"] == [BAD]
    assert len(tests) == 10

    (where / "tests/test_2.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    assert service.run("make -j2 test", where).returncode == 0
