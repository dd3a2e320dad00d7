/* Learns what sensors usually say, and tells of what is unusual. */
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
    if (name_predict(&learner, x) == -1)
        Serial.println("unusual");
    name_learn(&learner, x);
    delay(100);
}
