"""Targets and drafts, whatever they are and wherever they come from.

The name of a pair comes in; a `LoadedPair` of two models in memory, checked to fit this machine and
each other, goes out. Read loader, which uses all the others: hub finds and fetches the files,
placement and requirements ask what the machine can hold and has installed, cpu makes a model's
arithmetic faster there, target and draft are the models themselves.
"""
