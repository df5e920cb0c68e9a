"""One module a page; each builds its part of the Blocks from views and engine calls."""
