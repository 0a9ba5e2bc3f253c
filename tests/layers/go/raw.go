package main

import (
	"syscall"
	"unsafe"
)

// raw makes the call itself, with a path as its first argument.
func raw(number uintptr, path *byte, rest []uintptr) error {
	arguments := [2]uintptr{}
	copy(arguments[:], rest)
	_, _, errno := syscall.Syscall(number, uintptr(unsafe.Pointer(path)), arguments[0], arguments[1])
	if errno != 0 {
		return errno
	}
	return nil
}

// openat2 asks for links not to be followed, so that older systems answer otherwise.
func openat2(path string) error {
	text, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	how := [3]uint64{}
	const here = ^uintptr(99) // AT_FDCWD
	_, _, errno := syscall.Syscall6(437, here, uintptr(unsafe.Pointer(text)), uintptr(unsafe.Pointer(&how)), 24, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// ioUring makes a ring, by which calls could be made that nobody sees.
func ioUring() error {
	parameters := [30]uint32{}
	_, _, errno := syscall.Syscall(425, 4, uintptr(unsafe.Pointer(&parameters)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
