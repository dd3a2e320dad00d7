"""Model selection inside the low-rank solver: kernels, widths, metrics and penalties share what can be shared.

`sampling`          which rows take part, and which fold they are in
`candidates`        kernels with a width, for rows in one view or another
`problems`          kernel values with landmarks, computed and whitened once for all folds and penalties
`ridge`             out-of-fold scores of ridge machines: quick, and good enough to rank kernels and widths
`judging`           what scores are worth, and whether one is better than another by more than chance
`heats`             many candidates on few rows and landmarks, then few of them on more
`metrics`           metrics that were learned, judged by rows that they have not seen
`work`              how long a fit takes, about, and what a limit of time leaves room for
"""
