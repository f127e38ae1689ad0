"""What every command stands in: configuration, context, options, exits."""
