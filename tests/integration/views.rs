//! Views: a run sees another directory in a place. Programs must answer there as in an ordinary directory, and the real
//! place must stay as it is.

use std::fs;

use macro_rules_attribute::apply;

use crate::layers::row;
use crate::run::{Mode, Run, skip};
use crate::scratch::Scratch;

/// The place, and a name in it that is no file of any run.
const REAL: &str = "out/place/real";

/// A shell script for each fact. `$P` is the place. `$PWD` is the workspace, which the place is outside of.
const SCRIPTS: &[&str] = &[
    "echo a > $P/f; cat $P/f; ls -a $P; stat -c '%n %F %s' $P/f $P",
    "mkdir -p $P/d/e; cd $P/d/e; pwd -P; ls -a ..; ls -a ../..; cd ../..; pwd -P",
    "cd $P; echo b > f; cat ./f $P/f; cat ../place/f; readlink -f f; realpath . ..",
    "cd $P/..; pwd -P; ls place; echo c > place/g; cat place/g",
    "mkdir $P/d; echo c > $P/d/f; cat $P/d/../d/f $P/../place/d/./f",
    "ln -s $P/f $P/l; echo d > $P/f; cat $P/l; readlink $P/l; readlink -f $P/l; stat -Lc %F $P/l",
    "ln -s $P into; echo e > into/f; cat $P/f into/f; readlink -f into/f; rm into/f; ls -a $P; rm into",
    "ln -s $P/none into; cat into; echo f > into; cat $P/none; rm into",
    "ln -s $PWD/file $P/out; cat $P/out; ln -s ../../ws/file $P/rel; cat $P/rel",
    "mkdir $P/d; ln -s d $P/l; echo g > $P/l/f; cat $P/d/f; cd $P/l; pwd -P; cat ../d/f",
    "echo h > $P/f; mv $P/f $P/g; cat $P/g; mv $P/g ./moved; cat moved; mv moved $P/back; cat $P/back",
    "echo i > $P/f; ln $P/f $P/h; stat -c %h $P/f; rm $P/f; cat $P/h",
    "cp -r dir $P/copy && ls -R $P/copy; rm -r $P/copy; ls -a $P",
    "printf '#!/bin/sh\\necho ran $#\\n' > $P/s; chmod +x $P/s; $P/s a b; cd $P; ./s",
    "cp /bin/echo $P/prog; $P/prog hello; ln -s $P/prog into; ./into by; rm into; cd $P; ./prog there; PATH=$P:$PATH prog found",
    "cat $P/none 2>/dev/null || echo none; ls $P/none/x 2>/dev/null || echo none; test -e $P || echo no",
    "mkdir $P/d; rmdir $P/d; mkdir $P 2>/dev/null || echo exists; echo x > $P/f/ 2>/dev/null || echo no",
    "echo j > $P/f; cat $P/f/x 2>/dev/null || echo no; cat $P/f/.. 2>/dev/null || echo no; test -d $P/f/.. || echo no",
    "echo j > $P/f; cat /..$P/f/.. 2>&1 | sed 's/.*: //'; cat /..$P/../place/f; cat /../..$P/./f",
    "exec 3> $P/f; echo k >&3; cat $P/f; readlink /proc/self/fd/3 < /dev/null; cat /proc/self/fd/3",
    "cd $P; readlink /proc/self/cwd; exec 3< .; readlink /proc/self/fd/3; ls -a /proc/self/cwd/",
    "mkdir $P 2>&1 | sed 's/.*: //'; mkdir -p $P $P/a/b; cd $P && mkdir -p a/c && ls -a . a",
    "find $P; touch $P/a $P/b; find $P -type f | sort; du -a $P | cut -f 2 | sort; tar -C $P -cf t.tar . && tar -tf t.tar | sort",
    "mktemp -p $P x.XXXXXX | sed s/[^.]*$//; d=$(mktemp -d -p $P); cd $d && pwd -P | sed s/[^.]*$//",
    "mkfifo $P/p; (echo l > $P/p &); cat $P/p; chmod 600 $P/p; stat -c %a $P/p; touch -d @0 $P/p; stat -c %Y $P/p",
    "echo m > $P/f; stat -c %s $PWD/dir/../../out/place/f; test -e dir/../../out/place/f && echo yes; realpath dir/../../out/place/f",
    "truncate -s 5 $P/f; stat -c %s $P/f; df $P > /dev/null && echo df; rm -rf $P/f; ls -a $P",
];

/// The same in Python, which makes other calls. `P` is the place.
const PYTHON: &[&str] = &[
    "os.makedirs(P + '/a/b'); os.chdir(P + '/a'); print(os.getcwd(), os.listdir('..'), os.path.realpath('b'))",
    "os.makedirs(P, exist_ok=True); os.makedirs(P + '/a/b', exist_ok=True); print(os.listdir(P))\ntry: os.mkdir(P)\nexcept OSError as e: print(e.errno)",
    "os.chdir(P); print(os.getcwd(), os.path.realpath('.'), os.path.abspath('x'))",
    "d = os.open(P, os.O_RDONLY); f = os.open('f', os.O_CREAT | os.O_RDWR, dir_fd=d); print(os.listdir(d), os.stat('f', dir_fd=d).st_size, os.readlink('/proc/self/fd/%d' % f))",
    "os.symlink(P + '/t', P + '/l'); open(P + '/t', 'w').write('x'); print(os.readlink(P + '/l'), os.path.realpath(P + '/l'), os.stat(P + '/l').st_size, os.lstat(P + '/l').st_size)",
    "s = socket.socket(socket.AF_UNIX); s.bind(P + '/s'); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect(P + '/s'); print(os.listdir(P))",
    "os.chdir(P); s = socket.socket(socket.AF_UNIX); s.bind('s'); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect(P + '/s'); print(os.listdir('.'))",
    "print(tempfile.mkdtemp(dir=P).startswith(P), [n for _, n, _ in os.walk(P)][0] != [])",
    "open(P + '/f', 'w').write('1'); os.rename(P + '/f', P + '/g'); os.link(P + '/g', P + '/h'); os.replace(P + '/h', 'w'); print(os.listdir(P), open('w').read()); os.remove('w')",
    "print(sorted(e.name for e in os.scandir(os.path.dirname(P)))); print(glob.glob(P + '/*'), os.path.ismount(P), os.path.exists(P + '/../place'))",
    "open(P + '/m.py', 'w').write('x = 1'); sys.path.insert(0, P); import m; print(m.x, m.__file__, sorted(os.listdir(P)))",
    "subprocess.run(['pwd', '-P'], cwd=P); print(shutil.disk_usage(P).total > 0, os.statvfs(P).f_bsize > 0, os.access(P, os.W_OK), os.pathconf(P, 'PC_NAME_MAX'))",
    "shutil.copytree('dir', P + '/d'); shutil.rmtree(P + '/d'); print(os.listdir(P)); os.chdir(P); os.mkdir('x'); os.chdir('x'); os.rmdir('../x')\ntry: print(os.getcwd())\nexcept OSError as e: print(e.errno)",
    "open(P + '/f', 'w'); os.utime(P + '/f', (1, 1)); os.chmod(P + '/f', 0o600); os.setxattr(P + '/f', 'user.a', b'b'); print(os.stat(P + '/f').st_mtime, os.listxattr(P + '/f'), os.getxattr(P + '/f', 'user.a'), oct(os.stat(P + '/f').st_mode)); os.removexattr(P + '/f', 'user.a'); os.truncate(P + '/f', 3)",
    // Names that are missing again and again, until a symlink leads there.
    "os.makedirs(P, exist_ok=True); open(P + '/f', 'w'); os.mkdir('m')
for way in 'm/a/f', os.path.abspath('m/b/f'), 'm/c/f', 'm/d/f', 'm/e':
    look = lambda: print(way, [seen(way) for seen in (os.path.exists, os.path.lexists, os.path.isfile)])
    look(), look(), os.stat('file')
    if way != 'm/d/f': os.symlink(P + '/f' if way == 'm/e' else P, 'm/link')
    if way == 'm/c/f': os.link('m/link', 'm/c', follow_symlinks=False)
    elif way == 'm/d/f': subprocess.run(['ln', '-s', P, 'm/d'])
    else: os.rename('m/link', way.removesuffix('/f'))
    look(), look()
    if way == 'm/c/f': os.remove('m/link')
shutil.rmtree('m')",
    "os.makedirs(P, exist_ok=True); open(P + '/f', 'w'); os.makedirs('m/a/k'); os.mkdir('m/b'); os.symlink(P, 'm/b/k')
for d in '.', 'm/a', '../b', '../a': os.chdir(d); print(d, os.path.exists('k/f'), os.path.lexists('k/f'), os.access('k/f', 0))
os.chdir('../..'); shutil.rmtree('m')",
    "subprocess.run([sys.executable, '-m', 'venv', '--without-pip', P + '/v'], check=True); open('s', 'w').write('#!%s/v/bin/python\nimport sys; print(sys.prefix, sys.executable, sys.argv)' % P); os.chmod('s', 0o755); subprocess.run(['./s', 'a'])",
];

/// Scripts whose interpreter is in the place, or that are there themselves. `$P/sh` is a shell, `$P/echo` prints its
/// words, and `$S` makes the file that it names a script with the first line and the text that follow.
const INTERPRETED: &[&str] = &[
    "$S s \"#!$P/sh -e\" 'echo $0 $# \"$@\"; tr \"\\0\" \" \" < /proc/$$/cmdline'; ./s a 'b c'; PATH=.:$PATH s; exec ./s",
    "$S s \"#!$P/sh\" 'echo $0 $#'; chmod -x s; ./s 2> /dev/null; echo $?; $S s \"#!$P/none\"; ./s 2> /dev/null; echo $?",
    "$S $P/i '#!/bin/sh -u' 'echo $0 $#; tr \"\\0\" , < /proc/$$/cmdline'; $S c \"#! $P/i  x y \"; ./c z; $S d \"#!$PWD/c\"; ./d",
    "$S $P/l \"#!$P/l\"; $P/l 2> /dev/null; echo $?; mkdir $P/d; $S s \"#!$P/d\"; ./s 2> /dev/null; echo $?",
    "$S $P/s '#!/bin/sh' 'echo $0 $(dirname $0)'; $P/s; cd $P; ./s; ../place/s; PATH=$P:$PATH s; PATH=.:$PATH s; sh s; cd ..; place/s",
    "$S $P/e '#!/usr/bin/env -S sh -e' 'echo $0 $-'; $P/e; ln -s $P/e l; ./l; $S s \"#!/usr/bin/env $P/sh\" 'echo $0'; ./s; rm l",
    "for end in '' ' ' '\\t -a  b\\t' ' c\\0d ' '\\0e'; do printf \"#!$P/echo$end\" > s; ./s f; printf '\\n' >> s; ./s g; done | tr '\\0' 0",
    "long=$(printf %0300d 0); for s in \"#!$P/echo $long\" \"#!$P/$long\"; do $S s \"$s\"; ./s a; done 2>&1 | tr -d '\\0' | grep -v found",
    "cd $P; $S s '#!./echo'; ./s a; cd ..; place/s a 2> /dev/null || echo no; cd $(dirname $S); ln -s $P into; $S s '#!into/echo'; ./s a; rm into",
];

/// The same for descriptors and for children that share memory with their parent.
const INTERPRETED_BY_DESCRIPTOR: &str = "
for path in (P + '/s', 's'):
    fd = os.open(path, os.O_RDONLY)
    for inherited in (True, False):
        os.set_inheritable(fd, inherited)
        if not os.fork():
            try: os.execve(fd, ['zero', 'one'], os.environ)
            except OSError as e: os._exit(e.errno)
        print(os.wait()[1] >> 8)
    os.close(fd)
    print(os.waitpid(os.posix_spawn(path, ['zero', 'two'], os.environ), 0)[1])
    print(subprocess.run([path, 'three'], capture_output=True).stdout, os.system(path))";

/// What these scripts begin with.
const PREPARED: &str = "cp /bin/sh $P/sh; cp /bin/echo $P/echo; \
    printf '#!/bin/sh\\nf=$1; shift; printf \"%%s\\\\n\" \"$@\" > $f; chmod +x $f\\n' > make; \
    chmod +x make; S=$PWD/make; ";

/// Runs `script` bare with the place as an ordinary directory, then confined with a view there. Both must print the same.
fn assert_same(script: &str) {
    let scratch = Scratch::new();
    let place = scratch.path("out/place");
    let text = place.to_str().expect("UTF-8");
    let run = |mode, flags: &[&str]| {
        Run::sh(&scratch, script).env("P", text).mode(mode).flags(flags).run()
    };
    fs::create_dir(&place).expect("the place");
    let bare = run(Mode::Bare, &[]);
    fs::remove_dir_all(&place).expect("the place is removed");
    for name in ["into", "moved", "t.tar", "w", "s", "c", "d", "make"] {
        let _ = fs::remove_file(scratch.ws().join(name));
    }
    scratch.write(REAL, "real\n");
    let before = scratch.forbidden();
    let view = format!("{text}={}", scratch.path("home/backing").display());
    let around = scratch.out();
    let flags = ["--view", &view, "-r", around.to_str().expect("UTF-8")];
    let confined = run(Mode::under_test(), &flags);
    assert_eq!(confined.stdout, bare.stdout, "{script}: {confined}");
    before.assert_same(&scratch.forbidden());
}

#[apply(row!)]
fn shells_see_an_ordinary_directory() {
    for script in SCRIPTS {
        assert_same(script);
    }
}

#[apply(row!)]
fn scripts_find_their_interpreter() {
    for script in INTERPRETED {
        assert_same(&format!("{PREPARED}{script}"));
    }
    let python = format!("import os, subprocess; P = os.environ['P']{INTERPRETED_BY_DESCRIPTOR}");
    let scripts = "for s in s $P/s; do $S $s \"#!$P/sh -e\" 'echo $0 $#'; done";
    assert_same(&format!("{PREPARED}{scripts}; python3 -c \"\"\"{python}\"\"\""));
}

/// The place is at the top of the tree, and nothing is there.
#[apply(row!)]
fn the_root_is_above_a_place_at_the_top() {
    let scratch = Scratch::new();
    let view = format!("/no-such-place={}", scratch.path("home/backing").display());
    let script = "cd /no-such-place; mkdir d; ls -a . d/../../no-such-place; stat -c %n /no-such-place/..; \
        ls -d ../usr /no-such-place/../usr; cd d/../..; pwd -P; cd /no-such-place/..; pwd -P";
    let run = Run::sh(&scratch, script).flags(&["--view", &view]).run();
    let lines: Vec<&str> = run.stdout.lines().filter(|line| !line.is_empty()).collect();
    let list = [".", "..", "d"];
    let named = [&[".:"][..], &list, &["d/../../no-such-place:"], &list].concat();
    let others = ["/no-such-place/..", "../usr", "/no-such-place/../usr", "/", "/"];
    assert_eq!(lines, [&named[..], &others].concat(), "{run}");
}

#[apply(row!)]
fn python_sees_an_ordinary_directory() {
    let modules = "import os, sys, socket, tempfile, shutil, glob, subprocess; P = os.environ['P']";
    for script in PYTHON {
        assert_same(&format!("python3 -c \"\"\"{modules}\n{script}\"\"\""));
    }
}

/// Python's own tests of temporary files, which make and look for many names.
#[test]
fn the_tests_of_temporary_files_pass() {
    let scratch = Scratch::new();
    let find = Run::sh(&scratch, "python3 -c 'import test.test_tempfile'").mode(Mode::Bare).run();
    if !find.status.success() {
        return skip("Python's tests are not installed");
    }
    assert_same("TMPDIR=$P python3 -m unittest test.test_tempfile 2>&1 | tail -1");
}
