//! python3: subprocesses, temporary files, virtual environments.

use crate::run::{Run, given};
use crate::scratch::Scratch;

#[test]
fn subprocesses_and_files() {
    let Some(scratch) = given(&["python3"], Scratch::new) else { return };
    let script = r#"
import os, pathlib, shutil, subprocess, sys, tempfile
out = sys.argv[1]
assert subprocess.run(["cat", "file"], capture_output=True, close_fds=True, check=True).stdout == b"inside\n"
assert subprocess.check_output("echo $((6 * 7)) | cat", shell=True) == b"42\n"
assert subprocess.run([sys.executable, "-c", "print(1)"], env={}, capture_output=True).stdout == b"1\n"
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "a").write_text("a")
    shutil.copytree(folder, "copied")
with tempfile.NamedTemporaryFile() as file:
    file.write(b"x")
for base, folders, files in os.walk("."):
    for name in files:
        os.stat(os.path.join(base, name))
shutil.rmtree("copied")
os.makedirs("a/b/c"); os.removedirs("a/b/c")
os.rename("file", "moved"); os.link("moved", "hard"); os.symlink("moved", "soft")
assert sorted(os.listdir(".")) == ["dir", "hard", "moved", "soft"], os.listdir(".")

for attempt in (
    lambda: open(out + "/secret").read(),
    lambda: os.listdir(out),
    lambda: open(out + "/target", "w"),
    lambda: shutil.rmtree(out + "/dir"),
    lambda: os.rename(out + "/secret", "got"),
    lambda: os.symlink(out, "link") or open("link/secret").read(),
):
    try:
        attempt()
    except PermissionError:
        continue
    sys.exit("an attempt succeeded")
print("refused")
"#;
    scratch.write("script.py", script);
    let script = scratch.read("script.py");
    let before = scratch.forbidden();
    let run = Run::new(&scratch, "python3", &["-c", &script, &scratch.expand("$OUT")]).run();
    run.assert_ok().assert_stdout("refused").assert_no_secret();
    before.assert_same(&scratch.forbidden());
}

/// A program that closed the policy's descriptor needs room in a file for it.
#[test]
fn subprocesses_where_files_may_not_be_long() {
    let Some(scratch) = given(&["python3"], Scratch::new) else { return };
    let script = "
import resource, subprocess, sys
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
subprocess.run(['true'], close_fds=True, check=True)
shown = subprocess.run(['sh', '-c', 'ulimit -f'], capture_output=True, check=True).stdout
assert shown == b'0\\n', shown
print(subprocess.run(['cat', sys.argv[1]], capture_output=True).stdout)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    ended = subprocess.run(['true'], close_fds=True).returncode
except OSError as error:
    ended = error.strerror
print(ended in (0, 'File too large'), ended)
";
    let secret = scratch.expand("$OUT/secret");
    let run = Run::new(&scratch, "python3", &["-c", script, &secret]).run();
    run.assert_ok().assert_stdout("True").assert_no_secret();
}

#[test]
fn virtual_environment() {
    let Some(scratch) = given(&["python3"], Scratch::new) else { return };
    Run::new(&scratch, "python3", &["-m", "venv", "--without-pip", "env"]).run().assert_ok();
    let code = "import sys; print(sys.prefix != sys.base_prefix)";
    Run::new(&scratch, "env/bin/python", &["-c", code]).run().assert_ok().assert_stdout("True");
    let code = scratch.expand("open('$OUT/secret').read()");
    let escape = Run::new(&scratch, "env/bin/python", &["-c", &code]).run();
    escape.assert_code(1).assert_stderr("PermissionError").assert_no_secret();
}
