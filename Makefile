# `make run` shows the product at work; `make test` runs every test.
CARGO ?= cargo

.PHONY: setup build run test layers control nightly race agents tools html book transparency lint lint-unbuilt bench bench-scale fuzz cross msrv package install dist dist-test

# A build needs only a C compiler, make, and the tool chain that rust-toolchain.toml names.
setup:
	@command -v $(CARGO) > /dev/null || { echo "Rust is missing: see https://rustup.rs"; exit 1; }
	@command -v cc > /dev/null || { echo "a C compiler is missing"; exit 1; }
	$(CARGO) fetch --locked

build: setup
	$(CARGO) build --release --locked

run: build
	sh samples/run.sh "$$($(CARGO) metadata --format-version 1 --no-deps --offline | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/jp-confine"

test: setup
	sh tests/all.sh

# The rows, each with every holder, and the whole of long tables, of which `make test` takes a sample.
layers: setup
	$(CARGO) test --locked --workspace --exclude jp-confine-shim --test integration -- \
		answers:: attacks_ policy_ layers

# Runs tests without confinement: each test that claims to prove confinement must fail. It names the packages of
# `make test`, so that it uses its builds.
control: setup
	sh tests/control.sh

# Runs as a whole what `.ci/run` only tries for some seconds.
nightly: lint html book layers race bench bench-scale package agents dist-test
	$(CARGO) test --locked --workspace --exclude jp-confine-shim --test integration -- tools_document
	$(MAKE) fuzz SECONDS=600

# Ten million attempts to be judged on one object and use another. `make test` makes some.
race: setup
	JP_CONFINE_RACE=10000000 $(CARGO) test --locked --workspace --exclude jp-confine-shim --test integration -- \
		--nocapture attacks_race

# Every coding agent that has a profile, to its first screen and through one command. Downloads up to 2 GB.
agents: setup
	sh tests/agents.sh
	$(CARGO) test --locked --workspace --exclude jp-confine-shim --test integration -- agents_installed

# `docs/tools.md`: everyday commands, bare and confined. As root, so that it has both users.
tools: setup
	UPDATE_DOCS=1 $(CARGO) test --locked --workspace --exclude jp-confine-shim --test integration -- tools_document

# The page of `learn --html` in a browser.
html: setup
	sh tests/html.sh

# The documents as a book, in target/book. A build of mdBook takes minutes, so it is not part of `.ci/run`. That checks
# the links and the table of contents (`tests/book.rs`).
book:
	@command -v mdbook > /dev/null || $(CARGO) install mdbook --locked --no-default-features
	PATH="$$PATH:$${CARGO_HOME:-$$HOME/.cargo}/bin" mdbook build

lint: lint-unbuilt
	$(CARGO) clippy --locked --workspace --exclude jp-confine-shim --all-targets -- -D warnings

# Of `make lint`, what `.ci/run` does not see while it builds the tests.
lint-unbuilt: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --package jp-confine-shim --features library -- -D warnings

# Runs real test suites, bare and confined by turns, and shows the differences.
transparency: build
	tests/transparency/run --jp-confine "$$($(CARGO) metadata --format-version 1 --no-deps --offline | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/jp-confine"

# With UPDATE_DOCS=1, both write their part of `docs/benchmarks.md`.
bench: setup
	$(CARGO) bench --locked --bench programs

bench-scale: setup
	$(CARGO) bench --locked --bench scale

# Runs what reads images and what resolves paths on generated input, for SECONDS each. Findings are in
# fuzz/target/findings.
SECONDS ?= 60
fuzz: setup
	sh fuzz/run.sh $(SECONDS)

# The preload library for macOS: built with a tool chain for it, and checked. It cannot run elsewhere. The tool chain is
# cargo-zigbuild here. On a Mac, type `make cross BUILD=cargo`.
BUILD ?= cargo-zigbuild
APPLE = aarch64-apple-darwin x86_64-apple-darwin
SHIMS = $(foreach target,$(APPLE),$(CURDIR)/target/cross/$(target)/shim/libjp_confine_shim.dylib)
NOTHING =
SPACE = $(NOTHING) $(NOTHING)

cross:
	for target in $(APPLE); do \
		MACOSX_DEPLOYMENT_TARGET=13.0 $(BUILD) rustc --locked --package jp-confine-shim --features library --crate-type cdylib \
			--config shim/profile.toml --profile shim --config 'profile.shim.strip=false' $(CROSS_FLAGS) \
			--target-dir target/cross --target $$target || exit 1; \
	done
	JP_CONFINE_MACH_O=$(subst $(SPACE),:,$(SHIMS)) $(CARGO) test --locked --test cross -- --ignored --nocapture

# The public crates and what they use, with the oldest compiler that they promise (`rust-version`).
PUBLIC = --package jp-confine-engine --package jp-confine-policy --package jp-confine-vfs
msrv: setup
	rustup toolchain install 1.90 --profile minimal
	rustup run 1.90 cargo check --locked $(PUBLIC)

# All crates in the form in which they are published, and built from that form. Cargo never unpacks or compiles a
# published version again, so each run needs a directory of its own. Otherwise it would not see a change.
package: setup
	mkdir -p target
	directory=$$(mktemp -d target/packed.XXXXXX) && trap 'rm -rf "$$directory"' EXIT && \
		$(CARGO) package --locked --workspace --target-dir "$$directory"

install: setup
	$(CARGO) install --locked --path .

# What a release publishes, in target/dist: tarballs, .deb files, install.sh, checksums. The first processor is this
# machine's. For the other one it needs a cross compiler (`gcc-aarch64-linux-gnu` in Debian).
HOST = $(shell uname -m)
PROCESSORS ?= $(HOST) $(filter-out $(HOST),x86_64 aarch64)
PROFILE ?= release
dist: setup
	sh packaging/dist.sh $(PROFILE) $(PROCESSORS)

# Installs that into bare roots, and runs it there. Runs the steps of the GitHub Action and the pre-commit hooks.
dist-test: dist
	sh packaging/test.sh
