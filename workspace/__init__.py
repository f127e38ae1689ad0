"""Disk, git and processes: the only floor that touches a work tree."""
