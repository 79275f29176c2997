# Needs Python >= 3.11, cargo and make. `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
CARGO := cargo
# The build backend is called by its name.
export PATH := $(CURDIR)/$(BIN):$(PATH)
CORE := rust_core/Cargo.toml
CORE_SOURCES := $(shell find rust_core/src -type f) rust_core/Cargo.toml rust_core/Cargo.lock

.PHONY: help setup tune test lint test-rust test-python bench soak soak-core soak-threads soak-quits soak-readers soak-fuzz fuzz-nightly calibrate-check scale-check verify cells stability validate scorecard recorded clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(VENV)/.installed: pyproject.toml constraints.txt $(CORE_SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) --group build
	$(PIP) --no-build-isolation --editable .
	touch $@

$(VENV)/.developer: $(VENV)/.installed
	$(PIP) --group dev
	touch $@

setup: $(VENV)/.installed  ## create .venv, build the core in release mode, install the package

tune: setup  ## the main job on the bundled LinkBench profile, from the my.cnf that Debian ships
	rm -f tuned/results.duckdb tuned/results.duckdb.wal
	$(BIN)/tunebench tune linkbench --from tests/data/debian-12-mariadb/my.cnf --to mariadb-10.11 \
		--trials 400 --minutes 2.7 --study make-tune --results tuned/results.duckdb -o tuned/my.cnf --force

lint: $(VENV)/.developer  ## formatters, linters, type checker
	$(CARGO) fmt --manifest-path $(CORE) --check
	$(CARGO) clippy --manifest-path $(CORE) --all-targets -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test-rust:  ## unit, property, crash and fault tests of the core
	$(CARGO) test --manifest-path $(CORE)

# Two files at a time: most tests need one core, and whole studies take all that there are.
test-python: $(VENV)/.developer  ## tests of the library, the terminal, and real engines where installed
	$(BIN)/python -m pytest -n 2 --dist loadfile

test: lint test-rust test-python  ## everything

bench: setup  ## both engines beside fjall and redb, in one run; the speed of the simulation
	$(CARGO) run --release --manifest-path rust_core/peers/Cargo.toml
	$(CARGO) bench --manifest-path $(CORE) --bench simulated

# PRODUCTS names some of them; ROCKSDB and SERVER the real engines, where the system's are not meant.
validate: setup  ## every setting of the validation sets on real engines and predicted; hours, goes on where it ended
	for product in $(or $(PRODUCTS),rocksdb innodb myrocks); do \
		case $$product in rocksdb) named="$(if $(ROCKSDB),--rocksdb $(ROCKSDB))";; *) named="$(if $(SERVER),--server $(SERVER))";; esac; \
		$(BIN)/tunebench validation --fill --product $$product --file datasets/validation/$$product.csv $$named || exit; \
	done
	$(BIN)/python -m tests.support.readme_scorecard

scorecard: setup  ## replays all published experiments and writes what README and reports quote
	$(BIN)/tunebench published --all -o datasets/published/SCORECARD.md --force
	$(BIN)/python -m tests.support.readme_scorecard

recorded: $(VENV)/.developer  ## random settings and what simulated trials of them gave, which judge the search; half an hour, goes on where it ended
	nice -n 19 $(BIN)/python -m tests.calibration.record

soak: soak-core soak-fuzz soak-threads soak-quits soak-readers  ## what takes hours: all cases of the core's tests, hundreds of studies, mutated files

soak-core:  ## the tests of the core with 50 times as many property cases, every power cut and fault of the crash matrix
	PROPTEST_CASES=12800 CRASH_STRIDE=1 $(CARGO) test --release --manifest-path $(CORE)

soak-threads: $(VENV)/.developer  ## 500 studies on threads that begin and end, two at a time
	TUNEBENCH_THREAD_STUDIES=500 $(BIN)/python -m pytest tests/integration/test_core_threads.py

soak-quits: $(VENV)/.developer  ## the workbench, left 200 times at any moment of a study
	TUNEBENCH_QUITS=200 $(BIN)/python -m pytest tests/terminal/test_quitting.py

soak-readers: $(VENV)/.developer  ## every reader of users' files on mutated ones, 10 minutes each
	FUZZ_SECONDS=600 $(BIN)/python -m pytest tests/fuzz

# Ten minutes for each decoder, one after the other; FUZZ_SECONDS says how many otherwise.
soak-fuzz:  ## damaged files and specs for every decoder of the core, 10 minutes each
	CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true FUZZ_SECONDS=$${FUZZ_SECONDS:-600} \
		$(CARGO) test --release --manifest-path $(CORE) --target-dir rust_core/target/fuzz --lib fuzz::tests -- \
		--test-threads=1 --nocapture

# What cargo-fuzz would pass to rustc, for machines without it.
LIBFUZZER := --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1

fuzz-nightly:  ## libFuzzer on one decoder for FUZZ_SECONDS: make fuzz-nightly FUZZ_TARGET=redo (needs a nightly compiler)
	mkdir -p rust_core/fuzz/corpus/$(FUZZ_TARGET)
	RUSTFLAGS="$(LIBFUZZER)" FUZZ_TARGET=$(FUZZ_TARGET) $(CARGO) +nightly run --release \
		--manifest-path rust_core/fuzz/Cargo.toml --target $$(rustc -vV | sed -n 's/host: //p') -- \
		-max_total_time=$${FUZZ_SECONDS:-600} -timeout=60 rust_core/fuzz/corpus/$(FUZZ_TARGET)

calibrate-check: $(VENV)/.developer  ## calibrates, then puts simulated beside measured runs; takes minutes
	$(BIN)/python -m tests.calibration.compare

scale-check: $(VENV)/.developer  ## trials of a study beside 16 times their size; an hour or two, goes on where it ended
	nice -n 19 $(BIN)/python -m tests.calibration.scale --minutes 120 --file tuned/scale.csv

verify: $(VENV)/.developer  ## the exported files on the real engines, and 20,000 operations of each workload of tables on servers
	TUNEBENCH_VERIFY=1 $(BIN)/python -m pytest tests/real
	TUNEBENCH_VERIFY=1 $(CARGO) test --release --manifest-path $(CORE) same_rows

cells: $(VENV)/.developer  ## sixteen questions searched, and their files on real servers; half an hour each, goes on where it ended
	$(BIN)/python -m tests.calibration.cells --file tuned/cells.csv $(if $(SERVER),--server $(SERVER))

stability: $(VENV)/.developer  ## 20 seeds of whole studies of engines of which it is known what matters
	TUNEBENCH_STUDIES=20 $(BIN)/python -m pytest tests/integration/test_whole_studies.py

clean:  ## remove what was built
	rm -rf $(VENV) rust_core/target rust_core/peers/target tuned
