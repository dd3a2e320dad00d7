    {
        real *next = row + @first@;
        for (j = 0; j < N_TEXTS; ++j) {
            const int first = name_first_category[j], n_known = name_first_category[j + 1] - first;
            const int width = name_n_encoded[j];
            const int has_means = name_first_mean[j + 1] > name_first_mean[j];
            int k, place = text[j] && text[j][0] ? n_known + 1 : n_known;
            for (k = 0; k < n_known; ++k)
                if (text[j] && strcmp(text[j], name_categories[first + k]) == 0)
                    place = k;
            for (k = 0; k < width; ++k) {
                const real hot = k == place ? @one@ : @zero@;
                next[k] = has_means ? name_means[name_first_mean[j] + place * width + k] : hot;
            }
            next += width;
        }
    }
