        real sum = 0;
        int rule = 0, m;
        for (k = 0; k < N_FEATURES; ++k) {
            gaps[k] = -expm1@f@(-@gamma@ * name_term(row, j, k));
            sum += gaps[k];
            integrals[k] = 0;
        }
        while (rule < N_RULES - 1 && sum > name_limits[rule])
            ++rule;
        for (m = name_first_nodes[rule]; m < name_first_nodes[rule + 1]; ++m) {
            const real node = name_nodes[m];
            real product = @one@;
            for (k = 0; k < N_FEATURES; ++k) {
                before[k] = product;
                product *= @one@ - node * gaps[k];
            }
            product = name_weights[m];
            for (k = N_FEATURES - 1; k >= 0; --k) {
                integrals[k] += before[k] * product;
                product *= @one@ - node * gaps[k];
            }
        }
