"""What a person or a program is shown of each noun."""
