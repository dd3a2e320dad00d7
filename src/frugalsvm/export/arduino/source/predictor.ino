/* Predicts from sensors. */
#include <name.h>

void setup() {
    Serial.begin(115200);
}

void loop() {
    @real@ x[NAME_N_FEATURES];
    for (int f = 0; f < NAME_N_FEATURES; ++f)
        x[f] = analogRead(A0 + f); /* as the rows of training had them */
    Serial.println(name_predict(x));
    delay(100);
}
