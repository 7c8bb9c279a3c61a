"""The command line, one module a command. Heavy packages are imported inside the commands, so that help is fast."""
