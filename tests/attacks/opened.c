/* Prints what the kernel tells of open files: how they were opened, and where a removed directory leads. One line each,
 * as in answers.c. */
#include "attack.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The flags of an open file, except the mark of large files, which depends on the libc. */
static void flags_of(const char *name, int fd)
{
    printf("%s: %x\n", name, fcntl(fd, F_GETFL) & ~0100000);
    close(fd);
}

static int v_status_flags(char **a)
{
    (void)a;
    if (symlink("file", "to_file") || symlink("made", "to_made") || symlink("dir", "to_dir"))
        return FAILED;
    flags_of("new", open("new", O_RDWR | O_CREAT, 0644));
    flags_of("new, exclusive", open("newer", O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_SYNC, 0644));
    flags_of("new, not following", open("newest", O_WRONLY | O_CREAT | O_NOFOLLOW, 0644));
    flags_of("made by a link", open("to_made", O_RDWR | O_CREAT, 0644));
    flags_of("made below a link", open("to_dir/made", O_RDWR | O_CREAT, 0644));
    flags_of("there by a link", open("to_made", O_WRONLY | O_CREAT | O_TRUNC, 0644));
    flags_of("read", open("file", O_RDONLY | O_NONBLOCK));
    flags_of("read by a link", open("to_file", O_RDONLY));
    flags_of("read, not following", open("file", O_RDONLY | O_NOFOLLOW));
    flags_of("directory", open("to_dir", O_RDONLY | O_DIRECTORY));
    return DONE;
}

static void in_removed(const char *how, int directory)
{
    struct stat status;
    line(how, "open .", openat(directory, ".", O_RDONLY | O_DIRECTORY));
    line(how, "hold .", openat(directory, ".", O_PATH));
    line(how, "open ..", openat(directory, "..", O_RDONLY | O_DIRECTORY));
    line(how, "open ../file", openat(directory, "../file", O_RDONLY));
    line(how, "open ../to_dir/inner", openat(directory, "../to_dir/inner", O_WRONLY | O_CREAT, 0600));
    line(how, "make ../made", openat(directory, "../made", O_WRONLY | O_CREAT, 0600));
    line(how, "remove ../made", unlinkat(directory, "../made", 0));
    line(how, "open x", openat(directory, "x", O_RDONLY));
    line(how, "make x", openat(directory, "x", O_WRONLY | O_CREAT, 0600));
    line(how, "mkdir x", mkdirat(directory, "x", 0700));
    line(how, "mkdir ../x", mkdirat(directory, "../x", 0700));
    line(how, "rmdir ../x", unlinkat(directory, "../x", AT_REMOVEDIR));
    line(how, "chmod .", fchmodat(directory, ".", 0700, 0));
    line(how, "stat ..", fstatat(directory, "..", &status, 0));
    line(how, "access ..", faccessat(directory, "..", F_OK, 0));
}

static int v_removed_directory(char **a)
{
    (void)a;
    if (symlink("dir", "to_dir") || mkdir("removed", 0755))
        return FAILED;
    int directory = open("removed", O_RDONLY | O_DIRECTORY);
    if (chdir("removed") || rmdir("../removed"))
        return FAILED;
    in_removed("here", AT_FDCWD);
    in_removed("descriptor", directory);
    line("here", "list", opendir(".") ? 0 : -1);
    /* Another directory gets its name. This process is not in that one. */
    if (mkdirat(directory, "../removed", 0755) || close(openat(directory, "../removed/x", O_CREAT | O_WRONLY, 0600)))
        return FAILED;
    in_removed("here, and its name is another's", AT_FDCWD);
    in_removed("descriptor, and its name is another's", directory);
    line("here", "chdir ..", chdir(".."));
    line("above", "open", open("file", O_RDONLY));
    return DONE;
}

const struct verb opened_verbs[] = {
    {"status_flags", 0, v_status_flags},
    {"removed_directory", 0, v_removed_directory},
    {0},
};
