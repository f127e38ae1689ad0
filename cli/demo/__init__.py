"""`tasks demo`: the whole story on a generated repository, through the public commands."""
