# `make run` shows the product at work; `make test` runs every test.
CARGO ?= cargo

.PHONY: setup build run test control lint bench install

# What a build needs beyond a C compiler and make: the tool chain that rust-toolchain.toml names.
setup:
	@command -v $(CARGO) > /dev/null || { echo "Rust is missing: see https://rustup.rs"; exit 1; }
	@command -v cc > /dev/null || { echo "a C compiler is missing"; exit 1; }
	$(CARGO) fetch --locked

build: setup
	$(CARGO) build --release --locked

run: build
	sh samples/run.sh "$$($(CARGO) metadata --format-version 1 --no-deps --offline | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/jp-confine"

# The preload library has no test harness: it is tested through the programs it is loaded into.
test: setup
	$(CARGO) test --locked --workspace --exclude jp-confine-shim

# The same tests with the mediation off: each that claims to prove confinement must fail.
control: setup
	sh tests/control.sh

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --exclude jp-confine-shim --all-targets -- -D warnings
	$(CARGO) clippy --locked --package jp-confine-shim -- -D warnings

bench: setup
	$(CARGO) bench --locked --bench programs

install: setup
	$(CARGO) install --locked --path .
