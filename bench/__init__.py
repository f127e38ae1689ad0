"""What the store costs, beside hand-written SQL doing the same rows: `make bench`."""
