"""Changes a terminal in every way that is trapped, and says what came of it."""
import fcntl, os, select, signal, sys, termios
terminal = os.open('/dev/tty', os.O_RDWR)
# What is written to the terminal is discarded, too.
screen, sys.stdout = sys.stdout, open('told', 'w', buffering=1)
def tried(change):
    try: return 0 if change() else None
    except (OSError, termios.error) as error: return error.args[0]
def ask(file, command, argument):
    return tried(lambda: fcntl.ioctl(file, command, argument) is not None)
def all_of(file):
    told = [ask(file, 0x540b, number) for number in (0, 1, 2, 3)]
    told += [ask(file, 0x540a, number) for number in (0, 1, 2, 3, 4)]
    for first, length in (0x5402, 36), (0x5406, 18), (0x402c542b, 44):
        read = {0x5402: 0x5401, 0x5406: 0x5405, 0x402c542b: 0x802c542a}[first]
        modes = bytearray(length)
        if tried(lambda: fcntl.ioctl(terminal, read, modes) is not None) != 0: print('?')
        told += [ask(file, first + more, bytes(modes)) for more in (0, 1, 2)]
        told += [ask(file, first + more, 8) for more in (0, 1, 2)]
    return ' '.join(map(str, told))
held = os.open('/dev/tty', os.O_PATH)
null, pipe = os.open('/dev/null', os.O_RDWR), os.pipe()[1]
other = os.openpty()
for file in terminal, 0, held, null, pipe, 99, os.open('.', 0), *other: print(all_of(file))
os.write(other[0], b'abc\n')
print(select.select([other[1]], [], [], 5)[0] != [], ask(other[1], 0x540b, 0))
print(select.select([other[1]], [], [], 0)[0] != [])
# What was typed is discarded at either end of another terminal, and what was shown is not.
for end in 0, 1:
    ends = os.openpty()
    os.write(ends[0], b'typed\n')
    select.select([ends[1]], [], [], 5)
    termios.tcsetattr(ends[end], termios.TCSAFLUSH, termios.tcgetattr(ends[end]))
    print(select.select([ends[1]], [], [], 0)[0] != [], os.read(ends[0], 99))
modes = termios.tcgetattr(terminal)
modes[3] &= ~termios.ECHO
termios.tcsetattr(terminal, termios.TCSADRAIN, modes)
print(termios.tcgetattr(terminal)[3] & termios.ECHO)
modes[3] |= termios.ECHO
termios.tcsetattr(terminal, termios.TCSAFLUSH, modes)
print(termios.tcgetattr(terminal)[3] & termios.ECHO != 0)
def behind(how, change):
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        how()
        os._exit(10 if change() == 0 else 11)
    for _ in range(3):
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status): return os.waitstatus_to_exitcode(status)
        print('stopped by', os.WSTOPSIG(status))
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(terminal, child)
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.kill(child, signal.SIGCONT)
def taken_back(what):
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(terminal, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    print(what)
discard = lambda: ask(terminal, 0x540b, 0)
flush = lambda: tried(lambda: termios.tcsetattr(terminal, termios.TCSAFLUSH, modes) is None)
ignoring = lambda: signal.signal(signal.SIGTTOU, signal.SIG_IGN)
blocking = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
def once(*_): print('heard'); ignoring()
handling = lambda: signal.signal(signal.SIGTTOU, once)
for how in ignoring, blocking, handling, lambda: None:
    taken_back(behind(how, discard))
    taken_back(behind(how, flush))
print('end', file=screen, flush=True)
