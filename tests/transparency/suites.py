"""The suites. Each takes a turn and a directory for what is fetched and built once, and gives the
result of every test by name."""

import functools
import hashlib
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

MODULES = """
    test_os test_posix test_shutil test_pathlib test_glob test_tempfile test_subprocess test_fileio
    test_io test_mmap test_tarfile test_zipfile test_socket
""".split()

# Sockets to a virtual machine's host, which nobody answers: these tests wait for ever.
ENDLESS = "*VSOCK*"

# What the elements of a report in the form of JUnit say.
RESULTS = {"failure": "FAIL", "error": "ERROR", "skipped": "SKIP"}


class Missing(Exception):
    """What a suite needs is not here."""


def cpython(module, turn, _cache):
    """A module of CPython's own tests (https://docs.python.org/3/library/test.html)."""
    python = shutil.which("python3", path="/usr/bin:/bin") or "python3"
    # Parts of the package `test` come with every Python.
    found = subprocess.run([python, "-c", f"import test.{module}"], stderr=subprocess.DEVNULL)
    if found.returncode:
        raise Missing("CPython's tests are not installed (Debian: libpython3.N-testsuite)")
    file = turn.work / "results.xml"
    line = [python, "-m", "test", "-v", "--ignore", ENDLESS, "--junit-xml", file, module]
    status, _ = turn.run(line)
    if not file.exists():
        return {"(exit status)": status}
    results = {}
    for case in xml.parse(file).iter("testcase"):
        kinds = [RESULTS[child.tag] for child in case if child.tag in RESULTS]
        results[case.get("name").removeprefix(f"test.{module}.")] = kinds[0] if kinds else "PASS"
    if not results:
        raise Missing(f"no test ran: {python} ended with {status}")
    return results


def busybox(turn, cache):
    """The tests of busybox, run on a busybox built from the same source."""
    source = busybox_source(cache)
    for name in "busybox", ".config":
        shutil.copy2(source / name, turn.work)
    for name in "scripts", "testsuite":
        shutil.copytree(source / name, turn.work / name, symlinks=True)
    status, output = turn.run(["./runtest"], cwd=turn.work / "testsuite")
    results = {} if "PASS: " in output else {"(exit status)": status}
    for result, test in re.findall(r"^(PASS|FAIL|SKIPPED|UNTESTED): (.*)$", output, re.MULTILINE):
        while test in results:
            test += " again"
        results[test] = result
    return results


def build_c(turn, cache):
    """Builds busybox: many short-lived processes, two at a time."""
    source = turn.work / "busybox"
    shutil.copytree(busybox_source(cache), source, symlinks=True)
    status, _ = turn.run(["sh", "-c", "make clean && make -j2"], cwd=source, KCONFIG_NOTIMESTAMP="1")
    return {"(exit status)": status} | hashes(source)


def build_rust(turn, _cache):
    """Builds the policy crate: a compiler with many threads and an allocator of its own (jemalloc),
    and a linker with threads."""
    source = turn.work / "source"
    source.mkdir()
    archive = subprocess.run(["git", "-C", ROOT, "archive", "HEAD"], capture_output=True, check=True)
    subprocess.run(["tar", "x"], cwd=source, input=archive.stdout, check=True)
    homes = {name: os.environ.get(name) or str(Path.home() / directory)
             for name, directory in (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"))}
    cargo = Path(homes["CARGO_HOME"], "bin/cargo")
    if not os.access(cargo, os.X_OK):
        raise Missing("cargo is not installed")
    line = [cargo, "build", "--locked", "--offline", "--package", "jp-confine-engine"]
    status, _ = turn.run(line, cwd=source, CARGO_INCREMENTAL="0", **homes)
    return {"(exit status)": status} | hashes(source / "target")


def hashes(directory):
    """What a build made, as hashes: objects, libraries and programs."""
    made = (file for file in directory.rglob("*") if file.is_file() and not file.is_symlink())
    return {str(file.relative_to(directory)): hashlib.sha256(file.read_bytes()).hexdigest()[:16]
            for file in made
            if file.suffix in {".o", ".a", ".so", ".rlib", ".rmeta"} or os.access(file, os.X_OK)}


def busybox_source(cache):
    """The source that the system's package is built from, and busybox built from it."""
    built = cache / "busybox"
    if not built.exists():
        if not shutil.which("apt-get"):
            raise Missing(f"put the built source of busybox into {built}")
        fetched = fetch_source("busybox", cache / "apt")
        work = cache / "unpacked"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        for command in (["tar", "xf", fetched, "--strip-components=1"], ["make", "defconfig"],
                        ["make", "-j2"]):
            subprocess.run(command, cwd=work, check=True, stdout=subprocess.DEVNULL)
        work.rename(built)
    return built


def fetch_source(package, directory):
    """Asks the package manager, with its own lists of sources, for the archive of a package."""
    (directory / "lists/partial").mkdir(parents=True, exist_ok=True)
    form = "deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)"
    entries = subprocess.run(["apt-get", "indextargets", "--format", form, "Created-By: Packages"],
                             capture_output=True, text=True, check=True).stdout.splitlines()
    (directory / "sources.list").write_text("\n".join(sorted(set(entries))) + "\n")
    options = {"Dir::Etc::SourceList": directory / "sources.list", "Dir::Etc::SourceParts": "/dev/null",
               "Dir::State::Lists": directory / "lists", "Dir::Cache": directory}
    apt = ["apt-get", "-q", *(part for name, value in options.items()
                              for part in ("-o", f"{name}={value}"))]
    for command in [*apt, "update"], [*apt, "source", "--download-only", package]:
        subprocess.run(command, cwd=directory, check=True, stdout=subprocess.DEVNULL)
    return next(directory.glob(f"{package}_*.orig.tar.*"))


ALL = {module: functools.partial(cpython, module) for module in MODULES} | {
    "busybox": busybox, "build_c": build_c, "build_rust": build_rust}
