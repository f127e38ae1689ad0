"""What is really in a work tree, found without trusting it and without git."""
