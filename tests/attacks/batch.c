/* Runs many steps in one process, and prints one line of answer for each line of a file. */
#include "attack.h"
#include <stdio.h>
#include <string.h>

enum { WORDS = 8 };

static int v_batch(char **a)
{
    char line[4096];
    FILE *file = fopen(a[0], "r");
    if (!file)
        return FAILED;
    while (fgets(line, sizeof line, file)) {
        char *words[WORDS + 1] = {0}, *rest = line;
        for (int i = 0; i < WORDS && (words[i] = strtok_r(rest, " \n", &rest)); i++)
            ;
        found("");
        report(run(words));
    }
    fclose(file);
    return REPORTED;
}

const struct verb batch_verbs[] = {
    {"batch", 1, v_batch},
    {0},
};
