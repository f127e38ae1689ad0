"""Git, called with nothing of anybody's configuration, and the runner repositories it keeps."""
