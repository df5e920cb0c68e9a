"""The version of RheoScope, as `python -m rheo --version` prints it and every trace records it."""

__version__ = "0.1.0"
