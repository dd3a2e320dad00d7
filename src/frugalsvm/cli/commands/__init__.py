"""The commands, each in a file of its name, and the ways to train and to tune that they choose from."""
