# The front door. Every target sets up what it needs; nothing but Python >= 3.11 is expected.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
# From it Java starts sooner, and the tests start very many. They run without it too.
export ONCEONLY_CLASS_ARCHIVE := $(CURDIR)/.venv/spark.jsa
export PYTHONUNBUFFERED := 1
# Where this forbids Python to keep what it compiled, as in many container images, each of the
# thousands of processes that tests start compiles all of our modules again: a second of processor.
unexport PYTHONDONTWRITEBYTECODE
export NO_MKDOCS_2_WARNING := 1

.PHONY: help setup demo test gate check bench bench-growth bench-lake docs conformance interop formats coverage excepts simulate nemesis fuzz fuzz-packages mutants small-mutants lock image release clean

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | sort

setup: $(READY)  ## .venv with everything that the locks name

# --no-deps, since a lock is whole: pip of Debian 12 asks for the newest release of whatever somebody
# needs with an extra (coverage[toml]), then refuses it as not pinned, once there is a newer one.
$(READY): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "onceonly needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V). Try make PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/python -m pip check
	@touch $@

$(ONCEONLY_CLASS_ARCHIVE): $(READY)
	-$(BIN)/onceonly lake class-archive

demo: $(READY)  ## two gateways, a faulty link, hard kills, and Spark's verdict (under 90 s)
	$(BIN)/onceonly demo $(ARGS)

# Lanes, the longest first, three at once: tests of Spark mostly wait for one core that plans, the
# others for processes to start and for retries. With ARGS one run, of what they say.
LANES := test-lake test-gateway test-others test-processes test-runs test-increments coverage
SIDE_BY_SIDE := $(MAKE) --jobs 3 --output-sync=target --keep-going
INNER_TESTS := tests/message tests/protocol tests/wire tests/journal
RUN_TESTS := tests/lake/runs
INCREMENT_TESTS := tests/lake/gold tests/lake/ingest
PROCESS_TESTS := tests/nemesis tests/repo tests/simulation tests/docs
GATEWAY_TESTS := tests/gateway tests/pyspark_onceonly tests/demo tests/bench tests/interop
ifdef ARGS
test: $(READY)  ## all tests, the short nemesis among them; ARGS="tests/wire -k header" for some
	$(BIN)/python -m pytest $(ARGS)
else
test: $(READY) $(ONCEONLY_CLASS_ARCHIVE)
	$(SIDE_BY_SIDE) $(LANES)
endif

# What takes longest begins first, so that both processors have work to the end. Of the tests that
# are marked long every commit tries a quarter, as it tries worlds of its own: all of them take as
# long as everything else together.
gate: $(READY) $(ONCEONLY_CLASS_ARCHIVE)  ## what .ci/run asks for: test but three quarters of the long ones, check, and worlds that no commit has seen before
	LONG="--long-share 4" $(SIDE_BY_SIDE) $(LANES) check fresh

.PHONY: $(LANES) fresh
test-lake: $(READY)
	$(BIN)/python -m pytest $(LONG) tests/lake $(patsubst %,--ignore=%,$(RUN_TESTS) $(INCREMENT_TESTS))

test-runs: $(READY)
	$(BIN)/python -m pytest $(LONG) $(RUN_TESTS)

test-increments: $(READY)
	$(BIN)/python -m pytest $(LONG) $(INCREMENT_TESTS)

test-processes: $(READY)
	$(BIN)/python -m pytest $(LONG) $(PROCESS_TESTS)

test-gateway: $(READY)
	$(BIN)/python -m pytest $(LONG) $(GATEWAY_TESTS)

test-others: $(READY)
	$(BIN)/python -m pytest $(LONG) $(patsubst %,--ignore=%,tests/lake $(PROCESS_TESTS) $(GATEWAY_TESTS) $(INNER_TESTS))

# Where they begin is made of the commit.
fresh: $(READY)
	$(BIN)/onceonly simulate --fresh 5000

# Tests of properties run here too, and cover nothing: what they enter is a matter of chance.
coverage: $(READY)  ## every branch of the inner rings, by their own unit tests: one of the lanes of test
	rm -rf build/coverage
	$(BIN)/python -m coverage run -m pytest --unmeasured-properties $(INNER_TESTS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --include='*/message/*,*/protocol/*,*/wire/*,*/journal/*' --fail-under=100

# Not the tests that kill processes or build wheels: these take what they know with them. A process
# for each file of tests, since one that loses track of where it is is not believed at all. Needs what
# .ci/run installs: without a broker, say, its error paths are not entered.
excepts: $(READY)  ## the except clauses that no test enters: none (all tests, file by file, two at once)
	rm -rf build/excepts; passed=0; \
	find tests -name 'test_*.py' | grep -vE '^tests/(nemesis|repo|bench)/' | sort | \
	  COVERAGE_FILE=$(CURDIR)/build/excepts/data xargs -P 2 -n 1 \
	  $(BIN)/python -m coverage run -m pytest -q $(ARGS) || passed=$$?; \
	$(BIN)/python tests/repo/except_clauses.py build/excepts src && exit $$passed

check: $(READY)  ## style, types, rings, docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy fuzz
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --strict --quiet

bench: $(READY)  ## ratios against the floor of this machine, measured side by side
	$(BIN)/python -m bench.run $(ARGS)

bench-lake: $(READY)  ## the lake beside Spark's floor, DuckDB and polars, DataFrames beside a bare client; ARGS="--events 200000000" for the long run
	$(BIN)/python -m bench.lake.run $(ARGS)
	$(BIN)/python -m bench.dataframes

bench-growth: $(READY)  ## a full store beside an empty one: start, duplicates, messages, lists (10 GB, some minutes)
	$(BIN)/python -m bench.growth $(ARGS)

simulate: $(READY)  ## simulated worlds that this commit has not seen, the small ones exhaustively, power cuts
	$(BIN)/onceonly simulate --fresh 20000 --exhaustive --power-cuts 100000 $(ARGS)

nemesis: $(READY)  ## 1000 cycles of kill -9 under load, and every other fault at every point
	rm -rf build/nemesis
	$(MAKE) --jobs 2 nemesis-kills nemesis-points
	$(BIN)/python tests/nemesis/nemesis_figures.py build/nemesis docs/proof/nemesis.json

# Side by side, since both mostly wait: for processes to start, and for retries.
.PHONY: nemesis-kills nemesis-points
nemesis-kills: $(READY)
	$(BIN)/python -m pytest tests/nemesis --cycles 1000 -k "random_kills or under_load" \
	  --figures build/nemesis/kills.json $(ARGS)

nemesis-points: $(READY)
	$(BIN)/python -m pytest tests/nemesis --cycles 1000 -k "not (random_kills or under_load)" \
	  --figures build/nemesis/points.json $(ARGS)

fuzz: .venv/fuzz-ready  ## every parser fuzzed; ARGS="--executions 1000000" for the long run
	$(BIN)/python fuzz/run.py $(ARGS)

fuzz-packages: $(READY)  ## odd packages over every entrance of a whole gateway; ROUNDS=10 SEED=2 for others
	ONCEONLY_ODD_ROUNDS=$(or $(ROUNDS),1) ONCEONLY_ODD_SEED=$(or $(SEED),1) \
	  $(BIN)/python -m pytest tests/hostile/test_odd_packages.py $(ARGS)

.venv/fuzz-ready: $(READY) requirements/fuzz.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/fuzz.lock
	@touch $@

mutants: $(READY)  ## planted bugs, each hunted by seeds until an invariant shows it
	$(BIN)/python tests/simulation/mutants/mutant_run.py $(ARGS)

small-mutants: $(READY)  ## small changes made by a program: which does no world notice? ARGS="protocol/verdict.py"
	$(BIN)/python tests/simulation/mutants/small_mutants.py $(ARGS)

conformance: $(READY)  ## the tests of every statement of the seeds, and the page that says so
	$(BIN)/python -m pytest -m statement --conformance $(ARGS)

interop: $(READY)  ## exchanges with a foreign partner (needs java and mvn), kept for the page that says so
	$(BIN)/python -m pytest tests/interop --keep-exchanges $(ARGS)

# Delta and Iceberg have jars for Spark 4.1 so far: their tests take that one. Those of object stores
# take the Spark of the lock. What is not served here is said, and what needs it skips.
FORMATS := build/formats
COPIED := mvn --quiet --batch-mode dependency:copy-dependencies
formats: $(FORMATS)/ready  ## tables of Delta and Iceberg by their own jars, a lake in an object store (needs java and mvn)
	PYTHONPATH=$(CURDIR)/$(FORMATS)/spark $(BIN)/python -m pytest tests/formats $(ARGS)
	PYTHONPATH=$(CURDIR)/$(FORMATS)/server $(BIN)/python -m pytest tests/object_store $(ARGS)

$(FORMATS)/ready: $(READY) requirements/formats.lock requirements/object-store.lock tests/formats/pom.xml \
  tests/formats/accelerator/pom.xml tests/formats/rest/pom.xml tests/object_store/pom.xml
	rm -rf $(FORMATS)
	for part in "formats spark" "object-store server"; do set -- $$part; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	    --require-hashes -r requirements/$$1.lock --target $(FORMATS)/$$2 || exit 1; done
	-$(COPIED) --file tests/formats/pom.xml -DoutputDirectory=$(CURDIR)/$(FORMATS)/jars
	-$(COPIED) --file tests/formats/accelerator/pom.xml -DoutputDirectory=$(CURDIR)/$(FORMATS)/accelerator
	-$(COPIED) --file tests/formats/rest/pom.xml -DoutputDirectory=$(CURDIR)/$(FORMATS)/rest
	-$(COPIED) --file tests/object_store/pom.xml -DexcludeGroupIds=io.netty,org.slf4j \
	  -DoutputDirectory=$(CURDIR)/$(FORMATS)/s3
	@ls $(FORMATS)/jars/*.jar $(FORMATS)/accelerator/*.jar $(FORMATS)/rest/*.jar $(FORMATS)/s3/*.jar > /dev/null && touch $@ || echo "jars are missing: the next make formats asks for them again"

docs: $(READY)  ## the documentation, in site/
	$(BIN)/mkdocs build --strict

# The image has what serving takes, so its lock has neither Spark nor tools; its versions are those that
# the tests ran with.
LOCKED := uv pip compile --quiet --generate-hashes --universal --no-header --python-version 3.11 \
  --no-emit-index-url --no-emit-find-links --output-file

lock: $(READY)  ## resolve the requirements anew (needs uv)
	$(LOCKED) requirements/dev.lock --extra spark pyproject.toml requirements/dev.in
	$(LOCKED) requirements/fuzz.lock requirements/fuzz.in
	$(LOCKED) requirements/formats.lock requirements/formats.in
	$(LOCKED) requirements/object-store.lock requirements/object-store.in
	$(LOCKED) requirements/build.lock --constraints requirements/dev.lock requirements/build.in
	$(LOCKED) requirements/gateway.lock --constraints requirements/dev.lock pyproject.toml

image:  ## the container image of a gateway (needs docker, and a network)
	docker build --tag onceonly .
	docker run --rm onceonly version

# What is asked first takes what a merge takes. CHECK=true where it has passed on this very commit.
CHECK ?= .ci/run
release: $(READY)  ## VERSION=0.2.0: check, join the changelog's fragments, build, commit, tag
	$(BIN)/python .ci/release.py "$(VERSION)" $(CHECK)

clean:  ## remove what was built
	rm -rf .venv build dist site demo
