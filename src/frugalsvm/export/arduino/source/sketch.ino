/* @words@ */
#include <name.h>

@learner@
void setup() {
    Serial.begin(115200);
@begin@
}

void loop() {
    @real@ x[NAME_N_FEATURES];
    for (int f = 0; f < NAME_N_FEATURES; ++f)
        x[f] = analogRead(A0 + f); /* as the rows of training had them */
@body@
    delay(100);
}
