PYTHON ?= python3
# One more than there are processors, because some tests wait for clocks.
TESTS ?= -n $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1) --dist worksteal
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo quick test share bytecode check format pictures bench cost fuzz soak mutate clean

demo: $(READY) ## proctor's main job on an example project with a failure in it
	@echo '$$ proctor run -C examples/shop'
	@$(BIN)/proctor run -C examples/shop --python $(CURDIR)/$(BIN)/python --format human || test $$? -eq 1
	@echo; echo '$$ proctor run -C examples/shop --format agent'
	@$(BIN)/proctor run -C examples/shop --python $(CURDIR)/$(BIN)/python --format agent || test $$? -eq 1

test: $(READY) bytecode ## all tests
	@echo 'All tests: about 20 minutes on two idle cores. `make quick` takes less than two.'
	$(BIN)/python -m pytest -q $(TESTS) $(ARGS)

quick: $(READY) bytecode ## tests for while you work: no installs, other interpreters or tools, few real runs
	$(BIN)/python -m pytest -q $(TESTS) -m 'not slow' $(ARGS)

share: $(READY) ## writes the man page and the completion scripts anew, after a change of options
	$(BIN)/proctor help --man > share/man/man1/proctor.1
	$(BIN)/proctor completion bash > share/bash-completion/completions/proctor
	$(BIN)/proctor completion zsh > share/zsh/site-functions/_proctor
	$(BIN)/proctor completion fish > share/fish/vendor_completions.d/proctor.fish

bytecode: $(READY) # of what has changed: tests start proctor a thousand times, perhaps without leave to keep it
	@$(BIN)/python -m compileall -q src/proctor

check: $(READY) ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

pictures: $(READY) ## draws docs/pictures/*.svg, and takes *.png in Chromium
	$(BIN)/python docs/pictures/draw.py
	$(BIN)/python docs/pictures/photograph.py

bench: $(READY) ## writes benchmarks/RESULTS.md
	$(BIN)/python benchmarks/bench.py $(ARGS)

cost: $(READY) ## fails if something costs more than benchmarks/bounds.toml allows; ARGS=--write sets that anew
	$(BIN)/python benchmarks/cost.py $(ARGS)

fuzz: $(READY) ## looks for input that breaks a promise; ARGS='--seconds 300 control'
	test -x .cache/fuzz/bin/python || $(PYTHON) -m venv .cache/fuzz
	.cache/fuzz/bin/python -m pip install -qq --disable-pip-version-check -c constraints.txt atheris -e .
	.cache/fuzz/bin/python fuzz/fuzz.py $(ARGS)

soak: $(READY) ## 1,000 runs through one MCP server, with cancels and kills; 500 edits; ARGS='--runs N --edits N --seed N'
	PYTHONPATH=tests $(BIN)/python -m soak $(ARGS)

mutate: ## changes the code in one place at a time and asks the tests; ARGS='--lived wire/reports/tap.py'
	test -x .cache/mutate/bin/python || $(PYTHON) -m venv .cache/mutate
	.cache/mutate/bin/python -m pip install -qq --disable-pip-version-check -c constraints.txt \
		mutmut pytest hypothesis html5lib jinja2 jsonschema junitparser lxml -e .
	nice .cache/mutate/bin/python mutation/mutate.py $(ARGS)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "proctor needs Python 3.11 or newer; make PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt pip
	$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -r requirements-dev.txt -e .
	$(BIN)/python -m compileall -q src/proctor
	@touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache mutants
