"""Where work trees lie on disk, how they are filled and how they are put away."""
