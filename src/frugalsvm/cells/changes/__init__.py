"""Cells that change: rows are added and forgotten, and only the cells that have them are solved again.

`mending`    one tree with its machines after a change of rows
`left_out`   leave-one-out scores after a change
`structure`  which rows a tree was made of, and parts of a tree made again from other rows
`public`     trees that are made without rows
"""
