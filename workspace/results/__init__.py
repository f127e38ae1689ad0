"""What is made of judged bytes: commits, diffs, exports."""
