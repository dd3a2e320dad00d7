typedef struct {
    double eta;    /* the step size */
    double raw;    /* the same over the scale after shrinking */
    double before; /* the scale before shrinking */
    double weight; /* of the row */
    real norm;     /* its squared norm */
} step_sizes;
