    Serial.println(name_predict(&learner, x));
    if (Serial.available() > 0) {
        double targets[NAME_N_TARGETS];
        for (int k = 0; k < NAME_N_TARGETS; ++k)
            targets[k] = Serial.parseFloat();
        name_learn(&learner, x, targets);
    }
