    if (name_predict(&learner, x) == -1)
        Serial.println("unusual");
    name_learn(&learner, x);
