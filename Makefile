# Thin on purpose: Meson and Ninja build, scripts/ do the rest. `make help` lists what there is.

BUILD ?= build/plain
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 30
KILLS ?= 1000
export FUZZ_SECONDS ONLY

.DEFAULT_GOAL := build
.PHONY: help build demo test check soak bench fuzz lint format docs images install clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1: /p' $(MAKEFILE_LIST) | \
	    while IFS=: read -r target meaning; do printf '  make %-9s%s\n' "$$target" "$$meaning"; done

$(BUILD)/build.ninja:
	meson setup --prefix=$(PREFIX) $(BUILD)

build: $(BUILD)/build.ninja ## build metron as build/plain/metron
	ninja -C $(BUILD) programs man

demo: ## install what is missing (apt-get), build, profile a small workload
	@scripts/deps build
	@$(MAKE) --no-print-directory build
	@scripts/demo $(BUILD)/metron

test: ## install what is missing (apt-get), run every test; ONLY=daemon: a folder, a file or a word
	@scripts/deps $(if $(ONLY),check,test)
	@scripts/test --only="$$ONLY"

check: ## before each commit, under 2 minutes: linters on changed files, unit tests, every command once
	@scripts/deps check
	@scripts/test --check

soak: build ## kill the daemon, and runs, KILLS (1000) times; ten minutes with 4,000 processes (METRON_SOAK_SECONDS); noise in diff
	@scripts/deps check
	METRON=$(abspath $(BUILD)/metron) METRON_KILLS=$(KILLS) /usr/bin/python3 -m pytest -q -s -p no:cacheprovider \
	    tests/e2e/test_daemon_crash.py tests/faults/test_kill_at_random.py tests/measure/soak_daemon.py \
	    tests/measure/soak_noise.py -k 'killed or ten_minutes or thousands_of_ticks or equal_runs'

bench: ## cost of metron beside GNU time and con-duct
	@scripts/deps bench
	@$(MAKE) --no-print-directory build
	@scripts/bench $(BUILD)/metron

fuzz: ## fuzz each parser for FUZZ_SECONDS (30)
	@scripts/deps check
	@scripts/fuzz

lint: ## format, clang-tidy, cppcheck, include directions, scripts, generated documents
	@scripts/deps check
	@scripts/test --deep lint

format: ## put all C files into the house's format
	clang-format -i $$(find src include tests fuzz examples -name '*.[ch]')

docs: build ## write the generated documents
	$(BUILD)/metron measurements --markdown > docs/measurements.md
	scripts/snapshot-schema $(BUILD)/metron > docs/schema/snapshot.schema.json.new
	mv docs/schema/snapshot.schema.json.new docs/schema/snapshot.schema.json

images: build ## draw the pictures in docs/images anew
	scripts/images $(BUILD)/metron

install: build ## install under PREFIX (/usr/local), below DESTDIR if set
	meson configure -Dprefix=$(PREFIX) $(BUILD)
	ninja -C $(BUILD) programs man
	meson install -C $(BUILD) --no-rebuild

clean: ## remove everything built
	rm -rf build
