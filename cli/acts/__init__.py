"""What the commands of several nouns share: one thing done through the store, and told."""
