//! Package managers and compiler caches. Each works in the workspace's own caches, with the network and then without. Nothing
//! that it does changes the user's home, and a person may install outside and inside by turns.
//!
//! A row is skipped if a program is missing, or if the program cannot install outside either, as without the network.

use std::time::Duration;

use crate::run::{Mode, Outcome, Run, given, skip};
use crate::scratch::Scratch;

/// A tool, and what to do with it. The commands are lines for `sh`.
struct Tool {
    programs: &'static [&'static str],
    /// Files to begin with, below the scratch directory.
    files: &'static [(&'static str, &'static str)],
    env: &'static [(&'static str, &'static str)],
    /// Fetches and installs, or compiles.
    install: &'static str,
    /// Does so without the network. Empty if the tool cannot.
    offline: &'static str,
    /// Deletes what was installed, so that only the cache has it.
    clean: &'static str,
    /// An installation says this if it had to do something.
    news: &'static str,
    /// How much the first installation inside finds after one outside.
    after_outside: Found,
}

#[derive(PartialEq, Eq)]
enum Found {
    /// Everything is in place.
    All,
    /// The workspace's own cache is empty, so the tool does its work once more.
    Nothing,
}

/// One test for each tool.
macro_rules! tools {
    ($($(#[$attribute:meta])* $name:ident: $tool:expr;)+) => { $(
        $(#[$attribute])*
        #[test]
        fn $name() {
            let tool = $tool;
            let Some(outside) = given(tool.programs, || tool.scratch()) else { return };
            let first = tool.run(&outside, Mode::Bare, tool.install, &[]);
            if first.code() != 0 {
                return skip(&format!("{} cannot install here", tool.programs[0]));
            }
            first.assert_output(tool.news);
            tool.installs_inside();
            tool.installs_by_turns(&outside);
        }
    )+ };
}

impl Tool {
    fn scratch(&self) -> Scratch {
        let scratch = Scratch::new();
        for (name, text) in self.files {
            scratch.write(name, &scratch.expand(text));
        }
        scratch
    }

    fn run(&self, scratch: &Scratch, mode: Mode, line: &str, flags: &[&str]) -> Outcome {
        let mut run =
            Run::sh(scratch, line).mode(mode).flags(flags).limit(Duration::from_secs(300));
        for (name, value) in std::env::vars().filter(|(name, _)| is_about_registries(name)) {
            run = run.env(&name, &value);
        }
        for (name, value) in self.env {
            run = run.env(name, &scratch.expand(value));
        }
        run.run()
    }

    /// Runs `line` in `jp-confine`. The home stays as it is, and nothing is denied but the network, if `flags` say so.
    fn inside(&self, scratch: &Scratch, line: &str, flags: &[&str]) -> Outcome {
        let before = scratch.whole_home();
        let run = self.run(scratch, Mode::under_test(), line, flags);
        before.assert_same(&scratch.whole_home());
        run.assert_ok();
        let is_denial = |line: &str| line.contains("denied ") && !line.contains("denied net ");
        assert!(!run.stderr.lines().any(is_denial), "{run}");
        assert!(!flags.is_empty() || !run.stderr.contains("denial"), "{run}");
        run
    }

    /// In a new home: first with the network, then without it.
    fn installs_inside(&self) {
        let scratch = self.scratch();
        self.inside(&scratch, self.install, &[]).assert_output(self.news);
        self.run(&scratch, Mode::Bare, self.clean, &[]).assert_ok();
        if !self.offline.is_empty() {
            self.inside(&scratch, self.offline, &["--no-net"]);
        }
    }

    /// Where the tool was used `outside`, it has nothing more to do inside, and then outside again.
    fn installs_by_turns(&self, outside: &Scratch) {
        if self.after_outside == Found::Nothing {
            self.inside(outside, self.install, &[]).assert_output(self.news);
        }
        let inside = self.inside(outside, self.install, &[]);
        let again = self.run(outside, Mode::Bare, self.install, &[]);
        for run in [inside, again] {
            run.assert_ok();
            assert!(!run.stdout.contains(self.news) && !run.stderr.contains(self.news), "{run}");
        }
    }
}

impl Outcome {
    /// Fails unless one of the outputs holds `text`.
    fn assert_output(&self, text: &str) {
        assert!(self.stdout.contains(text) || self.stderr.contains(text), "no {text:?}: {self}");
    }
}

/// Whether a variable of the caller's says how to reach registries.
fn is_about_registries(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["cert", "ca_bundle", "proxy", "registry", "index"].iter().any(|part| name.contains(part))
}

const PACKAGE: &str = r#"{"name": "app", "dependencies": {"is-odd": "3.0.1"}}"#;
const NODE: Tool = Tool {
    programs: &["node"],
    files: &[("ws/package.json", PACKAGE)],
    env: &[],
    install: "",
    offline: "",
    clean: "rm -r node_modules",
    news: "",
    after_outside: Found::All,
};

tools! {
    npm: Tool {
        programs: &["npm"],
        install: "npm install && node -e 'require(\"is-odd\")'",
        offline: "npm install --offline",
        news: "added 2 packages",
        ..NODE
    };
    pnpm: Tool {
        programs: &["pnpm", "node"],
        install: "pnpm install && node -e 'require(\"is-odd\")'",
        offline: "pnpm install --offline",
        news: "Packages: +2",
        ..NODE
    };
    /// As its installer sets it up.
    pnpm_on_path: Tool {
        programs: &["pnpm", "node"],
        env: &[
            ("PNPM_HOME", "$HOME/.local/share/pnpm"),
            ("PATH", "$HOME/.local/share/pnpm:/usr/local/bin:/usr/bin:/bin"),
        ],
        install: "pnpm install",
        offline: "pnpm install --offline",
        news: "Packages: +2",
        ..NODE
    };
    /// Its cache is elsewhere if the user is root.
    yarn: Tool {
        programs: &["yarn", "node"],
        env: &[("YARN_CACHE_FOLDER", "$HOME/.cache/yarn")],
        install: "yarn install && node -e 'require(\"is-odd\")'",
        offline: "yarn install --offline",
        news: "Linking dependencies",
        ..NODE
    };
    /// Fetches a package manager, which installs by way of its store.
    corepack: Tool {
        programs: &["corepack", "npm"],
        files: &[
            ("ws/package.json", r#"{"packageManager": "yarn@4.5.0", "dependencies": {"is-odd": "3.0.1"}}"#),
            ("ws/.yarnrc.yml", "nodeLinker: node-modules\nenableTelemetry: false\n"),
            ("ws/yarn.lock", ""),
        ],
        env: &[("COREPACK_INTEGRITY_KEYS", "0"), ("COREPACK_ENABLE_DOWNLOAD_PROMPT", "0")],
        install: "r=$(npm config get registry); export COREPACK_NPM_REGISTRY=${r%/}
            corepack yarn install && node -e 'require(\"is-odd\")'",
        offline: "corepack yarn install",
        news: "added to the project",
        after_outside: Found::Nothing,
        ..NODE
    };
    bun: Tool {
        programs: &["bun", "node"],
        install: "bun install && node -e 'require(\"is-odd\")'",
        offline: "bun install",
        news: "2 packages installed",
        ..NODE
    };
    deno: Tool {
        programs: &["deno"],
        files: &[("ws/main.ts", "import isOdd from 'npm:is-odd@3.0.1';\nconsole.log(isOdd(3));\n")],
        install: "deno run main.ts",
        offline: "deno run --cached-only main.ts",
        clean: "true",
        news: "Download",
        after_outside: Found::Nothing,
        ..NODE
    };
    /// It asks the index even for packages that it has. The index may forbid to keep them, so the line itself uses the
    /// cache.
    pip: Tool {
        programs: &["pip3", "python3"],
        files: &[],
        install: "python3 -m venv --without-pip env; pip3 --python env/bin/python install idna &&
            env/bin/python -c 'import idna' && mkdir -p $(pip3 cache dir) && touch $(pip3 cache dir)/used",
        clean: "rm -r env",
        news: "Successfully installed",
        ..NODE
    };
    uv: Tool {
        programs: &["uv", "python3"],
        files: &[],
        install: "test -d .venv || uv venv; uv pip install idna && .venv/bin/python -c 'import idna'",
        offline: "uv venv && uv pip install --offline idna",
        clean: "rm -r .venv",
        news: "Installed 1 package",
        ..NODE
    };
    /// Its virtual environments are in its cache.
    poetry: Tool {
        programs: &["poetry"],
        files: &[("ws/pyproject.toml", "[project]\nname = 'app'\nversion = '1'\nrequires-python = '>=3.9'\n[tool.poetry]\npackage-mode = false\n")],
        install: "poetry install && poetry run python -c ''",
        offline: "poetry install",
        clean: "true",
        news: "Creating virtualenv",
        after_outside: Found::Nothing,
        ..NODE
    };
    ccache: Tool {
        programs: &["ccache", "gcc"],
        files: &[("ws/a.c", "int x;\n")],
        install: "ccache -z && ccache gcc -c a.c && ccache --print-stats",
        offline: "ccache gcc -c a.c",
        clean: "rm a.o",
        news: "cache_miss\t1",
        after_outside: Found::Nothing,
        ..NODE
    };
    mvn: Tool {
        programs: &["mvn"],
        files: &[
            ("ws/pom.xml", "<project><modelVersion>4.0.0</modelVersion>
                <parent><groupId>org.example</groupId><artifactId>parent</artifactId><version>1</version><relativePath/></parent>
                <artifactId>app</artifactId><packaging>pom</packaging>
                <repositories><repository><id>here</id><url>file://$WS/repository</url></repository></repositories></project>"),
            ("ws/repository/org/example/parent/1/parent-1.pom", "<project><modelVersion>4.0.0</modelVersion>
                <groupId>org.example</groupId><artifactId>parent</artifactId><version>1</version><packaging>pom</packaging></project>"),
        ],
        env: &[("MAVEN_OPTS", "-Duser.home=$HOME")],
        install: "mvn -B validate",
        offline: "mvn -B -o validate",
        clean: "true",
        news: "Downloaded from here",
        ..NODE
    };
    /// Its processes talk over the network of this machine, so it cannot do with `--no-net`.
    gradle: Tool {
        programs: &["gradle", "javac"],
        files: &[
            ("ws/build.gradle", "apply plugin: 'java'\n"),
            ("ws/src/main/java/A.java", "class A {}\n"),
        ],
        env: &[("GRADLE_USER_HOME", "$HOME/.gradle")],
        install: "gradle --no-daemon build",
        clean: "rm -r build",
        news: " executed",
        ..NODE
    };
    go: Tool {
        programs: &["go", "python3"],
        files: &[
            ("ws/go.mod", "module app\n\nrequire example.org/m v1.0.0\n"),
            ("ws/main.go", "package main\n\nimport \"example.org/m\"\n\nfunc main() { println(m.Word) }\n"),
            ("ws/proxy/example.org/m/@v/v1.0.0.info", "{\"Version\": \"v1.0.0\"}\n"),
            ("ws/proxy/example.org/m/@v/v1.0.0.mod", "module example.org/m\n"),
        ],
        env: &[
            ("GOPROXY", "file://$WS/proxy"),
            ("GONOSUMDB", "*"),
            ("GOFLAGS", "-mod=mod"),
            ("GOTOOLCHAIN", "local"),
        ],
        install: "zip=proxy/example.org/m/@v/v1.0.0.zip; test -f $zip || python3 -c '
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], \"w\") as zip:
    zip.writestr(\"example.org/m@v1.0.0/go.mod\", \"module example.org/m\\n\")
    zip.writestr(\"example.org/m@v1.0.0/m.go\", \"package m\\nconst Word = `theirs`\\n\")' $zip
            go build -x -o app . && ./app",
        offline: "GOPROXY=off go build -o app . && ./app",
        clean: "rm app",
        news: "/compile ",
        after_outside: Found::Nothing,
    };
}
