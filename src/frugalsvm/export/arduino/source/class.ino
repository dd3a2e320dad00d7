    Serial.println(name_predict(&learner, x));
    if (Serial.available() > 0)
        name_learn(&learner, x, Serial.read() - '0');
