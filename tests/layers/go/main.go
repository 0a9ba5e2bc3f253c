// The attack program's verbs for files, in a program that makes its system calls by itself: no libc,
// so that only the supervisor and Landlock hold it. One line is printed: `ok`, `ok` and what was read,
// or the name of the errno.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

var names = map[syscall.Errno]string{
	syscall.EPERM: "EPERM", syscall.ENOENT: "ENOENT", syscall.EACCES: "EACCES", syscall.EEXIST: "EEXIST",
	syscall.EXDEV: "EXDEV", syscall.EISDIR: "EISDIR", syscall.ENOTDIR: "ENOTDIR", syscall.ENOSYS: "ENOSYS",
	syscall.ENOTEMPTY: "ENOTEMPTY", syscall.ELOOP: "ELOOP", syscall.EINVAL: "EINVAL",
	syscall.ENODATA: "ENODATA", syscall.EOPNOTSUPP: "EOPNOTSUPP",
}

type verb func(args []string) (string, error)

func nothing(err error) (string, error) { return "", err }

func read(path string) (string, error) {
	bytes, err := os.ReadFile(path)
	return strings.TrimSpace(string(bytes)), err
}

func opened(path string, flags int) error {
	file, err := os.OpenFile(path, flags, 0o644)
	if err == nil {
		file.Close()
	}
	return err
}

func at(number uintptr, path string, rest ...uintptr) error {
	text, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	return raw(number, text, rest)
}

var verbs = map[string]verb{
	"open":       func(a []string) (string, error) { return read(a[0]) },
	"write":      func(a []string) (string, error) { return nothing(opened(a[0], os.O_WRONLY)) },
	"append":     func(a []string) (string, error) { return nothing(opened(a[0], os.O_WRONLY|os.O_APPEND)) },
	"creat":      func(a []string) (string, error) { return nothing(opened(a[0], os.O_RDWR|os.O_CREATE|os.O_TRUNC)) },
	"creat_excl": func(a []string) (string, error) { return nothing(opened(a[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL)) },
	"opendir": func(a []string) (string, error) {
		_, err := os.ReadDir(a[0])
		return nothing(err)
	},
	"truncate": func(a []string) (string, error) { return nothing(os.Truncate(a[0], 0)) },
	"mkdir":    func(a []string) (string, error) { return nothing(os.Mkdir(a[0], 0o755)) },
	"unlink":   func(a []string) (string, error) { return nothing(syscall.Unlink(a[0])) },
	"rmdir":    func(a []string) (string, error) { return nothing(syscall.Rmdir(a[0])) },
	"rename":   func(a []string) (string, error) { return nothing(os.Rename(a[0], a[1])) },
	"link":     func(a []string) (string, error) { return nothing(os.Link(a[0], a[1])) },
	"symlink":  func(a []string) (string, error) { return nothing(os.Symlink(a[0], a[1])) },
	"mkfifo":   func(a []string) (string, error) { return nothing(syscall.Mkfifo(a[0], 0o600)) },
	"chmod":    func(a []string) (string, error) { return nothing(os.Chmod(a[0], 0o600)) },
	"chown":    func(a []string) (string, error) { return nothing(os.Lchown(a[0], os.Getuid(), os.Getgid())) },
	"utimes":   func(a []string) (string, error) { return nothing(os.Chtimes(a[0], time.Unix(1, 0), time.Unix(1, 0))) },
	"setxattr": func(a []string) (string, error) { return nothing(syscall.Setxattr(a[0], "user.k", []byte("v"), 0)) },
	"getxattr": func(a []string) (string, error) {
		value := make([]byte, 64)
		count, err := syscall.Getxattr(a[0], "user.k", value)
		if err != nil {
			return "", err
		}
		return string(value[:count]), nil
	},
	"bind": func(a []string) (string, error) {
		_, err := net.Listen("unix", a[0])
		return nothing(err)
	},
	"serve": func(a []string) (string, error) {
		_, err := net.Listen("unix", a[0])
		time.Sleep(10 * time.Second)
		return nothing(err)
	},
	"connect": func(a []string) (string, error) {
		_, err := net.Dial("unix", a[0])
		return nothing(err)
	},
	"exec": func(a []string) (string, error) { return nothing(exec.Command(a[0], "stat", "/").Run()) },
	"walk": func(a []string) (string, error) {
		return nothing(filepath.Walk(a[0], func(_ string, _ os.FileInfo, err error) error { return err }))
	},
	"chdir_open": func(a []string) (string, error) {
		if err := os.Chdir(a[0]); err != nil {
			return "", err
		}
		return read(a[1])
	},
	"openat": func(a []string) (string, error) {
		directory, err := syscall.Open(a[0], syscall.O_DIRECTORY|0o10000000, 0)
		if err != nil {
			return "", err
		}
		file, err := syscall.Openat(directory, a[1], syscall.O_RDONLY, 0)
		if err != nil {
			return "", err
		}
		return read(fmt.Sprintf("/proc/self/fd/%d", file))
	},
	"openat2":      func(a []string) (string, error) { return nothing(openat2(a[0])) },
	"raw_truncate": func(a []string) (string, error) { return nothing(at(syscall.SYS_TRUNCATE, a[0])) },
	"raw_chroot":   func(a []string) (string, error) { return nothing(at(syscall.SYS_CHROOT, a[0])) },
	"raw_io_uring": func(a []string) (string, error) { return nothing(ioUring()) },
}

func main() {
	known := verbs[os.Args[1]]
	if known == nil {
		fmt.Fprintln(os.Stderr, "no such verb:", os.Args[1])
		os.Exit(2)
	}
	text, err := known(os.Args[2:])
	var errno syscall.Errno
	switch {
	case err == nil:
		fmt.Println(strings.TrimSpace("ok " + text))
		return
	case errors.As(err, &errno) && names[errno] != "":
		fmt.Println(names[errno])
	default:
		fmt.Println(err)
	}
	os.Exit(1)
}
