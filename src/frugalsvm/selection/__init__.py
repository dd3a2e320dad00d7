"""Model selection by exact leave-one-out: kernels, widths, metrics and penalties, and how to fit the best to all rows.

`task`         what there is to learn, where and in which time; candidates; which rows take part
`rounds`       candidates on the same rows in the same cells, and how they did
`judging`      what scores are worth, and whether one is better than another by more than chance
`widths`       gamma and C from some rows, by small ridge machines with landmarks
`in_order`     gamma for a stream that may change
`best_metric`  the best of several kinds of metrics, or none
`low_rank`     machines of all rows with landmarks, judged by rows that are held out
`search`       the rounds in their order, and the size of cells of the last fit
"""
