"""Names, descriptors and flushes: how this package touches a disk."""
