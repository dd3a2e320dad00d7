"""Model selection by exact leave-one-out: kernels, widths, metrics and penalties, and how to fit the best to all rows.

`task`              what there is to learn, and where it is computed
`sampling`          which rows take part, in a random order
`candidates`        kernels with a width, for rows in one view or another
`neighborhoods`     rows of some cells, as dense as those of the last fit
`rounds`            candidates on the same rows in the same cells, and how they did
`judging`           what scores are worth, and whether one is better than another by more than chance
`widths`            gamma and C from some rows, by small ridge machines with landmarks
`best_metric`       the best of several kinds of metrics, or none
`metrics`           metrics that are learned from some rows, judged by rows that they have not seen
`low_rank`          machines of all rows with landmarks, on the judges' rows; `problems` and `ridge` are for them
`search`            the rounds in their order, and the size of cells of the last fit
`work`              how long a fit takes, about, and what a limit of time leaves room for
"""
