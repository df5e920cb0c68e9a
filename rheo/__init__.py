"""RheoScope's engine: lossless stochastic decoding with dynamic draft trees (arXiv 2609.21827)."""

__version__ = "0.1.0"
