    for (j = 0; j < N_TEXTS; ++j) {
        int k;
        for (k = name_first_category[j]; k < name_first_category[j + 1]; ++k) {
            const int is_it = text[j] && strcmp(text[j], name_categories[k]) == 0;
            row[@first@ + k] = is_it ? @one@ : @zero@;
        }
    }
