# One command per purpose. Each one builds .venv from requirements.lock first, when it is missing or out of date.
#
#   make figures CONFIG=config/smoke.yaml CORES=1    another grid, fewer or more cores
#   make figures PROFILE=profiles/slurm              another machine
#   make claim CLAIM=C6                              what one claim needs, and its verdict
#   make figures ARGS=--dry-run                      anything else for Snakemake; likewise ARGS for test, lab and bench
#   make test PYTHON=/opt/python3.12/bin/python3     the Python of .venv, which is built anew if it has another

SHELL   := /bin/sh
VENV    := .venv
PY      := $(VENV)/bin/python
CONFIG  ?= config/paper.yaml
PROFILE ?= profiles/default
PYTHON  ?=
CORES   ?=
ARGS    ?=
CLAIM   ?=

# Jobs of the pipeline run side by side, so each keeps to one thread. Snakemake caps the other libraries, but not numba.
# Tests and the benchmark do want threads.
figures claim: export NUMBA_NUM_THREADS ?= 1

# Rules say `python`; it has to be the one of .venv.
RUN       = PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY)
SNAKEMAKE = $(RUN) -m snakemake --configfile "$(CONFIG)" --workflow-profile "$(PROFILE)" $(if $(CORES),--cores $(CORES))

.DEFAULT_GOAL := help
.PHONY: help setup checked figures claim smoke compare bundle test lint format lab bench expected lock clean distclean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(VENV)/.ready ## build .venv and nothing else

# Before Snakemake reads the config, which it does with less care.
checked: $(VENV)/.ready
	@$(RUN) -m ofancore.config check "$(CONFIG)" > /dev/null

figures: checked ## simulate, draw every figure, check the claims, build the report (CONFIG=config/paper.yaml)
	$(SNAKEMAKE) $(ARGS)
ifeq (,$(filter -n --dry-run --dryrun results%,$(ARGS)))
	@$(RUN) -m ofancore.compare --config "$(CONFIG)"
endif

claim: checked ## one claim: its runs, its figure, its verdict beside the reference (CLAIM=C1)
	@wanted=$$($(RUN) -m ofancore.compare --config "$(CONFIG)" --targets --claim "$(CLAIM)") && $(SNAKEMAKE) $(ARGS) $$wanted
ifeq (,$(filter -n --dry-run --dryrun,$(ARGS)))
	@$(RUN) -m ofancore.compare --config "$(CONFIG)" --claim "$(CLAIM)"
endif

smoke: ## the same pipeline on a grid of minutes (CONFIG=config/smoke.yaml)
	@$(MAKE) --no-print-directory figures CONFIG=config/smoke.yaml

compare: $(VENV)/.ready ## the results beside data/expected; fails if something differs or is missing
	@$(RUN) -m ofancore.compare --config "$(CONFIG)" --strict $(ARGS)

bundle: $(VENV)/.ready ## code, lock, raw runs, figures and report in one archive with check sums, into dist/
	@$(RUN) -m ofancore.bundle --config "$(CONFIG)" $(ARGS)

test: $(VENV)/.ready ## run the tests
	$(RUN) -m pytest -n 2 -q $(ARGS)

lint: $(VENV)/.ready ## look for mistakes in code and notebooks
	$(RUN) -m ruff check .

format: $(VENV)/.ready ## lay out the code
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

# JupyterLab at the tour: as whoever calls, with or without a browser, with the kernel of .venv and no other, which what a user has
# installed or set may not replace. It does not offer news. Of its log only errors are wanted; the address it says always.
LAB = $(RUN) -m jupyterlab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks/tour.ipynb \
    --ServerApp.kernel_spec_manager_class=jupyter_client.kernelspec.KernelSpecManager \
    --KernelSpecManager.allowed_kernelspecs=python3 --MultiKernelManager.default_kernel_name=python3 \
    --KernelManager.transport_encryption=auto --Application.log_level=ERROR

NO_NEWS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}

lab: $(VENV)/.ready ## open the notebooks in JupyterLab
	@{ mkdir -p $(VENV)/etc/jupyter/labconfig && echo '$(NO_NEWS)' > $(VENV)/etc/jupyter/labconfig/default_setting_overrides.json; } 2>/dev/null || true
	@echo "Starting JupyterLab; its address follows. Ctrl-C twice ends it."
	@JUPYTER_PATH= JUPYTER_PREFER_ENV_PATH=1 $(LAB) $(if $(filter 0,$(shell id -u)),--allow-root) \
	    $(if $(DISPLAY)$(WAYLAND_DISPLAY)$(BROWSER),,--no-browser) $(ARGS)

bench: $(VENV)/.ready ## print the simulator's speed on fixed cases
	$(VENV)/bin/ofancore bench $(ARGS)

expected: $(VENV)/.ready ## refresh data/expected, and README's verdicts, from the results of a full run
	$(RUN) -m ofancore.expected --config "$(CONFIG)" $(ARGS)
	$(RUN) -m ofancore.readme

lock: ## resolve requirements.lock anew (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --extra test --extra build --extra cluster pyproject.toml -o requirements.lock --upgrade --quiet

clean: ## remove results and caches; .venv stays
	find results -mindepth 1 ! -name .gitignore -delete
	rm -rf results_* .snakemake .pytest_cache .ruff_cache .hypothesis build *.egg-info
	find . -path ./$(VENV) -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +

distclean: clean ## remove .venv as well
	rm -rf $(VENV)

# Set-up. Each stamp is the last thing its recipe writes, and --clear removes both: a set-up that was cut short starts anew.
# uv, unlike pip, compiles no bytecode unless told to, and without it every job starts three times as slowly.

SUITABLE := import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))

# A .venv of another Python than the one that was asked for is built anew.
BASE := import os, sys; print(os.path.realpath(sys.base_prefix), sys.version)
ifneq (,$(PYTHON))
ifneq (,$(shell test ! -x $(PY) || [ "$$($(PY) -c '$(BASE)' 2>&1)" = "$$("$(PYTHON)" -c '$(BASE)' 2>&1)" ] || echo another))
.PHONY: another-python
$(VENV)/.locked: another-python
endif
endif

# A sign of life from a minute or two of pip: a line every so many packages, and one before they are unpacked. The status comes last.
FEW_LINES = { n=0; while read -r word rest; do case $$word in \
    Collecting | Processing) n=$$((n + 1)); [ $$((n % 40)) != 0 ] || echo "  $$n packages fetched" ;; \
    Installing) case $$rest in collected*) ;; *) continue ;; esac; echo "  $$n packages fetched; installing them, which takes a minute" ;; \
    status) exit $$rest ;; \
    esac; done; exit 1; }

$(VENV)/.locked: requirements.lock
	@set -eu; \
	python=; \
	for candidate in $(if $(PYTHON),"$(PYTHON)",python3 python3.13 python3.12 python3.11); do \
	    if "$$candidate" -c '$(SUITABLE)' >/dev/null 2>&1; then python=$$candidate; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	    echo "ofan needs Python 3.11, 3.12 or 3.13 with its venv module; $(if $(PYTHON),$(PYTHON) is not one,none is on PATH)." >&2; \
	    echo "Name one with: make PYTHON=/path/to/python3. On Debian and Ubuntu the module is the package python3-venv." >&2; \
	    exit 1; \
	fi; \
	echo "Building $(VENV) with $$("$$python" -V) from requirements.lock: a few minutes with pip, one or less with uv."; \
	"$$python" -m venv --clear $(VENV); \
	if uv --version >/dev/null 2>&1 && uv pip install --quiet --compile-bytecode --python $(PY) --require-hashes -r requirements.lock; then :; \
	else { $(PY) -m pip install --progress-bar off --disable-pip-version-check --require-hashes -r requirements.lock && \
	    echo status 0 || echo status 1; } | $(FEW_LINES); fi; \
	touch $@

# The project itself is linked into .venv by the lock's setuptools; no index is asked.
$(VENV)/.ready: $(VENV)/.locked pyproject.toml
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation --editable .
	@touch $@
