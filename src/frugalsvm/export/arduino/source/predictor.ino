    Serial.println(name_predict(x));
