"""Claim tasks and drive attempts from claim to settlement."""
