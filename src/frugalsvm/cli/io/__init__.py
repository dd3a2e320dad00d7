"""Rows and model files for the commands: what is opened, looked at, checked, resumed and interrupted."""
