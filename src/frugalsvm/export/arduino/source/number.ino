/* Predicts a number from sensors, and learns the one that is sent over the serial line. */
#include <name.h>

static name_context learner;

void setup() {
    Serial.begin(115200);
    name_init(&learner);
}

void loop() {
    name_real x[NAME_N_FEATURES];
    for (int f = 0; f < NAME_N_FEATURES; ++f)
        x[f] = analogRead(A0 + f); /* as the rows of training had them */
    Serial.println(name_predict(&learner, x));
    if (Serial.available() > 0) {
        double targets[NAME_N_TARGETS];
        for (int k = 0; k < NAME_N_TARGETS; ++k)
            targets[k] = Serial.parseFloat();
        name_learn(&learner, x, targets);
    }
    delay(100);
}
