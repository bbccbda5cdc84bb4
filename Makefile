# The only door: every recipe works on a fresh machine.
PYTHON ?= python3
BIN := .venv/bin
export OMP_NUM_THREADS ?= 2
export PYTHONDONTWRITEBYTECODE = 1
# ONNX Runtime would leave a session file in the temporary folder.
export ORT_DISABLE_TELEMETRY = 1

.PHONY: demo test check lint full golden docs zoo bench clean

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e ".[dev,keras]"
	touch $@

demo: .venv/ready
	$(BIN)/python examples/demo.py

test: lint
	$(BIN)/python -m pytest -q

check: lint
	$(BIN)/python -m pytest -q tests/test_architecture.py

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

full: .venv/ready
	$(BIN)/python -m pytest -q -m "not gpu"

golden: .venv/ready
	$(BIN)/python -m tests.golden

docs: .venv/ready
	$(BIN)/python -m docs.generate

# Hours. Measures what docs/pytorch_zoo.jsonl does not hold yet; ZOO="torchvision --only resnet --again" chooses.
zoo: .venv/ready
	$(BIN)/python -m tests.zoo run $(ZOO)
	$(BIN)/python -m docs.generate

bench: .venv/ready
	$(BIN)/pip install --quiet --no-deps -c constraints.txt onnx2torch onnx2pytorch
	env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks $(BENCH)

clean:
	rm -rf .venv build dist *.egg-info
