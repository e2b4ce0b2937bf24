# `make help` lists the targets. On a machine without make, scripts/setup.sh installs it too.

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
# rustup's folder, for shells that have not read ~/.cargo/env
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

# Lints are errors under the Rust version that Cargo.toml names; later ones bring new lints, which are
# shown but do not fail the tests of who has not changed anything.
RUST := $(shell sed -n 's/^rust-version *= *"\(.*\)".*/\1/p' Cargo.toml)
DENY = $(if $(findstring rustc $(RUST).,$(shell PATH="$(PATH)" rustc --version 2>/dev/null)),-D warnings -D clippy::undocumented_unsafe_blocks)

# The compiler that lints what it compiles, in place of rustc: `cargo clippy` would compile everything a second time. The
# arguments are joined as `cargo clippy` joins them.
SPACE := $(subst ,, )
LINTED = RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS='$(subst $(SPACE),__CLIPPY_HACKERY__,$(DENY))'

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev setup-cuda setup-release demo release test features bench clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' $(firstword $(MAKEFILE_LIST))

setup: ## install what is missing: LLVM 22, a C++ compiler, the CUDA headers
	@scripts/setup.sh

setup-dev:
	@scripts/setup.sh --dev

setup-cuda:
	@scripts/setup.sh --cuda

# The program of `make release`, or of an unpacked archive, where there is one.
RELEASED := $(wildcard dist/kerf-x86_64-linux/bin/kerf)

demo: $(if $(RELEASED),setup-cuda,setup) ## tune the Black-Scholes example to an error of 1e-5 without a GPU; builds Kerf unless dist/ has a release
	$(if $(RELEASED),,cargo build --release --locked)
	rm -rf $(TARGET_DIR)/demo
	$(or $(RELEASED),$(TARGET_DIR)/release/kerf) tune examples/black_scholes/black_scholes.toml --tolerance 1e-5 --out $(TARGET_DIR)/demo

setup-release:
	@scripts/setup.sh --release

release: setup-release ## build the wheel and the archive that need no compiler, for glibc 2.31 and later, into dist/
	scripts/release.py

test: setup-dev ## check the formatting, the lints, the tests, the documentation, its spelling and the Python package
	cargo fmt --all --check
	scripts/tidy.py
	scripts/records.py --check
	scripts/prose.py
	$(LINTED) cargo test --workspace --locked --features kerf/clang,kerf/mpi
	scripts/book.py --check
	scripts/test-readme.py $(TARGET_DIR)/debug/kerf
	scripts/test-python.sh

features: setup-dev ## lint training by the libtorch that LIBTORCH names
	cargo clippy -p kerf-quant -p kerf --features libtorch --all-targets --locked -- $(DENY)

bench: setup ## compare the CPU executor with PoCL (bench/identity.sh runs in a bundle, on a GPU machine)
	cargo build --release --locked
	bench/pocl/run.sh

clean: ## remove what cargo built (.kerf, with the CUDA headers, stays)
	cargo clean
