//! The built-in list of auto-run files: files that programs outside a run obey without anybody starting the project's
//! code (spec §10.1). `docs/autorun.md` shows it, and `explain` names its entries.

/// The version of the list. Increase it whenever an entry is added, removed or changed.
pub const VERSION: u32 = 1;

/// A kind of place where the patterns of an entry begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Place {
    /// The workspace, the directories from there to the working directory, and each directory that a rule or an option
    /// allows writing.
    Top = 0,
    /// A repository: `.git` or `NAME.git` in such a directory or anywhere below, and the target of a file `.git` of the
    /// workspace.
    Repository = 1,
    /// The directory that `core.hooksPath` names.
    Hooks = 2,
    /// A home directory.
    Home = 3,
    /// `$XDG_CONFIG_HOME`, which is `~/.config`.
    Config = 4,
    /// `$XDG_DATA_HOME`, which is `~/.local/share`.
    Data = 5,
    /// The workspace, unless it is a bare repository itself.
    Bare = 6,
    /// A file that a configuration of git includes.
    Included = 7,
    /// A directory on the user's `PATH`, outside the workspace.
    Commands = 8,
}

impl Place {
    /// All places, in the order of the list.
    pub const ALL: [Self; 9] = [
        Self::Top,
        Self::Repository,
        Self::Hooks,
        Self::Home,
        Self::Config,
        Self::Data,
        Self::Bare,
        Self::Included,
        Self::Commands,
    ];

    /// The place of a number in an image.
    pub(crate) const fn of_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Top),
            1 => Some(Self::Repository),
            2 => Some(Self::Hooks),
            3 => Some(Self::Home),
            4 => Some(Self::Config),
            5 => Some(Self::Data),
            6 => Some(Self::Bare),
            7 => Some(Self::Included),
            8 => Some(Self::Commands),
            _ => None,
        }
    }

    /// The beginning of its patterns as people write it, with the separator last.
    #[must_use]
    pub const fn written(self) -> &'static str {
        match self {
            Self::Top | Self::Bare => "",
            Self::Repository => ".git/",
            Self::Hooks => "core.hooksPath/",
            Self::Home => "~/",
            Self::Config => "~/.config/",
            Self::Data => "~/.local/share/",
            Self::Included => "include.path",
            Self::Commands => "PATH/",
        }
    }

    /// Its entries.
    #[must_use]
    pub const fn entries(self) -> &'static [Entry] {
        match self {
            Self::Top => TOP,
            Self::Repository => REPOSITORY,
            Self::Hooks => HOOKS,
            Self::Home => HOME,
            Self::Config => CONFIG,
            Self::Data => DATA,
            Self::Bare => BARE,
            Self::Included => INCLUDED,
            Self::Commands => COMMANDS,
        }
    }
}

/// One entry of the list.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// Names with `/` between them, below its place. `*` is any name, and `**` any number of names. A `/**` at the end
    /// covers the directory and everything in it. Elsewhere `**` is the name of a submodule, which contains no `refs`,
    /// `logs` or `objects`, because branches may have any name.
    pub pattern: &'static str,
    /// The program that obeys such a file.
    pub program: &'static str,
    /// When the program obeys it.
    pub when: &'static str,
    /// The ending of names that the program ignores. Empty for none.
    pub except: &'static str,
    /// It is a configuration of git, of which ordinary changes are harmless. The new text decides.
    pub is_git_config: bool,
    /// Deleting it needs no prompt, because git then obeys nothing in its place.
    pub may_go: bool,
}

impl Entry {
    /// Whether it leads git to another directory.
    #[cfg(feature = "std")]
    pub(crate) fn leads_elsewhere(&self) -> bool {
        self.pattern == GIT || self.may_go
    }
}

const fn entry(pattern: &'static str, program: &'static str, when: &'static str) -> Entry {
    Entry { pattern, program, when, except: "", is_git_config: false, may_go: false }
}

/// One of git's hooks. Git does not start the samples that it comes with.
const fn hooks(pattern: &'static str) -> Entry {
    let when = "at commits, checkouts, merges, pushes and `git status`";
    Entry { except: ".sample", ..entry(pattern, "git", when) }
}

/// A configuration of git.
const fn git_config(pattern: &'static str) -> Entry {
    Entry { is_git_config: true, ..entry(pattern, "git", "at each command, as `git status`") }
}

/// A file that leads from a worktree to its repository.
const fn leading(pattern: &'static str) -> Entry {
    let when = "at each command: it leads to another configuration and other hooks";
    Entry { may_go: true, ..entry(pattern, "git", when) }
}

const ATTRIBUTES: &str = "when files are compared, checked out or added";
const REMOTE: &str = "at fetches and pushes: it has the address of a remote";
const EDITOR: &str = "when the folder is opened";
const AGENT: &str = "when it is started there";
const ENTERED: &str = "when a shell enters the directory";
const BUILD: &str = "at each command there, before the project's code";
const LOGIN: &str = "when a shell starts or ends";
const DESKTOP: &str = "when the user logs in";

/// The pattern of a file that leads to a repository.
const GIT: &str = ".git";

const TOP: &[Entry] = &[
    entry(GIT, "git", "at each command: a file or link of this name leads to another repository"),
    entry(".envrc", "direnv", ENTERED),
    entry(".direnv/**", "direnv", ENTERED),
    entry(".mise.toml", "mise", ENTERED),
    entry("mise.toml", "mise", ENTERED),
    entry(".mise.local.toml", "mise", ENTERED),
    entry("mise.local.toml", "mise", ENTERED),
    entry(".mise/**", "mise", ENTERED),
    entry(".config/mise/**", "mise", ENTERED),
    entry(".config/mise.toml", "mise", ENTERED),
    entry(".vscode/tasks.json", "VS Code", EDITOR),
    entry(".vscode/launch.json", "VS Code", EDITOR),
    entry(".vscode/settings.json", "VS Code", EDITOR),
    entry(".vscode/mcp.json", "VS Code", EDITOR),
    entry(".idea/**", "JetBrains IDEs", EDITOR),
    entry(".devcontainer/**", "VS Code and other editors", EDITOR),
    entry(".devcontainer.json", "VS Code and other editors", EDITOR),
    entry(".zed/**", "Zed", EDITOR),
    entry(".nvim.lua", "Neovim", "when it is started there"),
    entry(".nvimrc", "Neovim", "when it is started there"),
    entry(".exrc", "Vim and Neovim", "when it is started there"),
    entry(".dir-locals.el", "Emacs", "when a file of the directory is opened"),
    entry(".dir-locals-2.el", "Emacs", "when a file of the directory is opened"),
    entry(".claude/**", "Claude Code", AGENT),
    entry(".mcp.json", "Claude Code", AGENT),
    entry(".cursor/**", "Cursor", EDITOR),
    entry(".codex/**", "Codex", AGENT),
    entry(".gemini/**", "Gemini CLI", AGENT),
    entry(".aider.conf.yml", "Aider", AGENT),
    entry(".opencode/**", "OpenCode", AGENT),
    entry("opencode.json", "OpenCode", AGENT),
    entry(".cargo/config", "cargo", BUILD),
    entry(".cargo/config.toml", "cargo", BUILD),
    entry(".npmrc", "npm and pnpm", BUILD),
    entry(".yarnrc.yml", "Yarn", BUILD),
    entry(".yarnrc", "Yarn", BUILD),
    entry(".pnpmfile.cjs", "pnpm", BUILD),
    entry(".pnpmfile.mjs", "pnpm", BUILD),
    entry(".bazelrc", "Bazel", BUILD),
    entry(".gdbinit", "GDB", "when it is started there"),
    entry(".lldbinit", "LLDB", "when it is started there"),
];

/// The entries of a repository, and of those below it.
macro_rules! of_repositories {
    ($($below:literal),*) => {
        &[$(
            hooks(concat!($below, "hooks/**")),
            git_config(concat!($below, "config")),
            git_config(concat!($below, "config.worktree")),
            leading(concat!($below, "commondir")),
            entry(concat!($below, "info/attributes"), "git", ATTRIBUTES),
            entry(concat!($below, "remotes/**"), "git", REMOTE),
            entry(concat!($below, "branches/**"), "git", REMOTE),
        )*]
    };
}

const REPOSITORY: &[Entry] =
    of_repositories!("", "modules/**/", "worktrees/*/", "worktrees/*/modules/**/");

const HOOKS: &[Entry] = &[hooks("**")];

const HOME: &[Entry] = &[
    entry(".bashrc", "bash", LOGIN),
    entry(".bash_profile", "bash", LOGIN),
    entry(".bash_login", "bash", LOGIN),
    entry(".bash_aliases", "bash", LOGIN),
    entry(".bash_logout", "bash", LOGIN),
    entry(".bash_completion", "bash", LOGIN),
    entry(".bashrc.d/**", "bash", LOGIN),
    entry(".inputrc", "bash and others", LOGIN),
    entry(".profile", "sh and the desktop", LOGIN),
    entry(".login", "csh", LOGIN),
    entry(".logout", "csh", LOGIN),
    entry(".cshrc", "csh", LOGIN),
    entry(".tcshrc", "tcsh", LOGIN),
    entry(".kshrc", "ksh", LOGIN),
    entry(".mkshrc", "mksh", LOGIN),
    entry(".zshenv", "zsh", LOGIN),
    entry(".zprofile", "zsh", LOGIN),
    entry(".zshrc", "zsh", LOGIN),
    entry(".zlogin", "zsh", LOGIN),
    entry(".zlogout", "zsh", LOGIN),
    entry(".zsh/**", "zsh", LOGIN),
    entry(".oh-my-zsh/**", "zsh", LOGIN),
    entry(".pam_environment", "PAM", DESKTOP),
    entry(".xinitrc", "X", DESKTOP),
    entry(".xprofile", "X", DESKTOP),
    entry(".xsession", "X", DESKTOP),
    entry(".xsessionrc", "X", DESKTOP),
    entry(".Xresources", "X", DESKTOP),
    entry(".ssh/**", "ssh and sshd", "at each connection"),
    entry(".gitconfig", "git", "at each command"),
    entry(".gnupg/**", "GnuPG", "at each command, as for signed commits"),
    entry(".tmux.conf", "tmux", "when its server starts"),
    entry(".screenrc", "screen", AGENT),
    entry(".vimrc", "Vim", AGENT),
    entry(".vim/**", "Vim", AGENT),
    entry(".emacs", "Emacs", AGENT),
    entry(".emacs.d/**", "Emacs", AGENT),
    entry(".gdbinit", "GDB", AGENT),
    entry(".lldbinit", "LLDB", AGENT),
    entry(".cargo/config", "cargo", "at each command"),
    entry(".cargo/config.toml", "cargo", "at each command"),
    entry(".cargo/env", "sh", LOGIN),
    entry(".npmrc", "npm and pnpm", "at each command"),
    entry(".yarnrc", "Yarn", "at each command"),
    entry(".yarnrc.yml", "Yarn", "at each command"),
    entry(".bazelrc", "Bazel", "at each command"),
    entry(".gradle/init.gradle", "Gradle", "at each command"),
    entry(".gradle/init.d/**", "Gradle", "at each command"),
    entry(".gradle/gradle.properties", "Gradle", "at each command"),
    entry(".m2/settings.xml", "Maven", "at each command"),
    entry(".m2/extensions.xml", "Maven", "at each command"),
    entry(".claude/**", "Claude Code", "when it starts"),
    entry(".claude.json", "Claude Code", "when it starts"),
    entry(".codex/**", "Codex", "when it starts"),
    entry(".gemini/**", "Gemini CLI", "when it starts"),
    entry(".cursor/**", "Cursor", "when it starts"),
    entry(".aider.conf.yml", "Aider", "when it starts"),
    entry(".vscode/**", "VS Code", "when it starts: its extensions are there"),
    entry(".vscode-server/**", "VS Code", "when it connects"),
    entry(".bin/**", "shells", "when a command of that name is typed, if it is on PATH"),
    entry("bin/**", "shells", "when a command of that name is typed, if it is on PATH"),
    entry(".local/bin/**", "shells", "when a command of that name is typed, if it is on PATH"),
    entry(".cargo/bin/**", "shells", "when a command of that name is typed, if it is on PATH"),
    entry("go/bin/**", "shells", "when a command of that name is typed, if it is on PATH"),
];

const CONFIG: &[Entry] = &[
    entry("fish/**", "fish", LOGIN),
    entry("bash/**", "bash", LOGIN),
    entry("zsh/**", "zsh", LOGIN),
    entry("autostart/**", "the desktop", DESKTOP),
    entry("plasma-workspace/**", "the desktop", DESKTOP),
    entry("hypr/**", "the desktop", DESKTOP),
    entry("i3/**", "the desktop", DESKTOP),
    entry("sway/**", "the desktop", DESKTOP),
    entry("systemd/user/**", "systemd", DESKTOP),
    entry("environment.d/**", "systemd", DESKTOP),
    entry("git/**", "git", "at each command"),
    entry("direnv/**", "direnv", ENTERED),
    entry("mise/**", "mise", ENTERED),
    entry("starship.toml", "starship", "at each prompt of a shell"),
    entry("nvim/**", "Neovim", AGENT),
    entry("emacs/**", "Emacs", AGENT),
    entry("tmux/**", "tmux", "when its server starts"),
    entry("Code/User/**", "VS Code", "when it starts"),
    entry("VSCodium/User/**", "VSCodium", "when it starts"),
    entry("Cursor/User/**", "Cursor", "when it starts"),
    entry("zed/**", "Zed", "when it starts"),
    entry("JetBrains/**", "JetBrains IDEs", "when they start"),
    entry("pip/**", "pip", "at each command"),
    entry("uv/**", "uv", "at each command"),
    entry("go/env", "go", "at each command"),
];

const DATA: &[Entry] = &[
    entry("applications/**", "the desktop", "when an application or a file is opened"),
    entry("dbus-1/services/**", "D-Bus", "when a service of that name is called"),
    entry("systemd/user/**", "systemd", DESKTOP),
    entry("nautilus/scripts/**", "the desktop", "when one is chosen"),
    entry("fish/vendor_conf.d/**", "fish", LOGIN),
    entry("fish/vendor_functions.d/**", "fish", "when a function is called"),
    entry("fish/vendor_completions.d/**", "fish", "when a command is completed"),
    entry("bash-completion/**", "bash", "when a command is completed"),
    entry("JetBrains/**", "JetBrains IDEs", "when they start"),
];

const BARE: &[Entry] = &[entry(
    "HEAD",
    "git",
    "at each command where there is no `.git`: beside `objects` and `refs` it makes the directory a repository",
)];

const INCLUDED: &[Entry] = &[git_config("**")];

const COMMANDS: &[Entry] = &[entry("**", "shells", "when a command of that name is typed")];
