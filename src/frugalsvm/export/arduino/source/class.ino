/* Predicts from sensors, and learns the class that is sent over the serial line: a digit is its index. */
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
    if (Serial.available() > 0)
        name_learn(&learner, x, Serial.read() - '0');
    delay(100);
}
