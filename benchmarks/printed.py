"""Printed accuracies that ours are put beside, in percent."""

# BSGD paper (2012), Table 3: mean and deviation of five repetitions with budgets of 100 and 500, one pass.
BASELINES = {
    "stop": {  # MP + stop
        "banana": ((88.07, 1.38), (89.77, 0.25)),
        "a9a": ((80.00, 1.61), (81.68, 0.90)),
        "ijcnn1": ((91.13, 0.18), (94.60, 0.96)),
        "satimage": ((82.34, 2.43), (88.68, 0.60)),
        "usps": ((79.11, 2.15), (90.78, 0.58)),
        "pendigits": ((88.27, 1.56), (97.78, 0.20)),
        "letter": ((41.89, 1.16), (67.32, 1.53)),
    },
    "random": {  # MP + random
        "banana": ((87.54, 1.33), (88.36, 0.99)),
        "a9a": ((79.78, 0.88), (80.40, 1.03)),
        "ijcnn1": ((90.22, 1.69), (91.86, 1.39)),
        "satimage": ((82.51, 1.34), (87.25, 1.07)),
        "usps": ((78.06, 2.01), (90.10, 0.97)),
        "pendigits": ((87.77, 2.96), (97.20, 0.68)),
        "letter": ((40.93, 2.31), (68.23, 1.14)),
    },
    "projectron++": {
        "banana": ((88.36, 1.52), (86.76, 1.27)),
        "a9a": ((77.86, 3.45), (79.80, 2.11)),
        "ijcnn1": ((92.36, 1.15), (94.73, 1.95)),
        "satimage": ((84.47, 1.75), (88.66, 0.66)),
        "usps": ((81.40, 1.26), (92.02, 0.59)),
        "pendigits": ((93.33, 0.96), (95.78, 0.75)),
        "letter": ((47.23, 0.99), (75.90, 0.76)),
    },
    "bpa": {  # BPA-NN
        "banana": ((90.35, 0.37), (91.30, 1.18)),
        "a9a": ((83.38, 0.56), (83.58, 0.30)),
        "ijcnn1": ((93.01, 0.53), (96.20, 0.35)),
    },
}

# TVM paper (2009), Table 3: the self-tuned Forgetron with a budget of 100; two classes each.
FORGETRON = {
    "a9a": 80.7,
    "banana": 83.7,
    "checkerboard": 82.4,
    "noisy-checkerboard": 70.3,
    "covtype": 56.4,
    "gauss": 77.3,
    "ijcnn1": 88.1,
    "letter": 73.1,
    "pendigits": 96.6,
    "shuttle": 99.4,
    "usps": 83.9,
    "waveform": 82.5,
}
