"""RheoScope's engine: lossless stochastic decoding with dynamic draft trees (arXiv 2609.21827)."""

from rheo.version import __version__ as __version__
