//! Recognises, by their names, files that hold secrets and files that decide what runs.

use crate::record::usage::{directory, name};

/// Names of files that hold secrets, and of directories for them.
const SECRET_NAMES: [&[u8]; 29] = [
    b"_netrc",
    b"admin.conf",
    b".env",
    b".envrc",
    b".ssh",
    b".gnupg",
    b".aws",
    b".netrc",
    b".npmrc",
    b".pypirc",
    b".pgpass",
    b".htpasswd",
    b".dockercfg",
    b".s3cfg",
    b".boto",
    b".dev.vars",
    b".dockerconfigjson",
    b"wallet.dat",
    b"key.json",
    b"keys.json",
    b".authinfo",
    b".msmtprc",
    b".pg_service.conf",
    b".yarnrc.yml",
    b"rclone.conf",
    b"wp-config.php",
    b"local.settings.json",
    b"key.txt",
    b"keys.txt",
];
/// Names of directories, also with a leading dot, in which every file may hold a secret.
const SECRET_DIRECTORIES: [&[u8]; 5] =
    [b"secret", b"secrets", b"private", b"credentials", b"passwords"];
/// Prefixes of such names.
const SECRET_STARTS: [&[u8]; 6] =
    [b".env.", b".env-", b".env_", b".dev.vars.", b"id_", b"terraform.tfstate"];
/// Suffixes of such names.
const SECRET_ENDS: [&[u8]; 23] = [
    b".env",
    b".p8",
    b".tfstate",
    b".pem",
    b".key",
    b".gpg",
    b".p12",
    b".pfx",
    b".jks",
    b".keystore",
    b".kdb",
    b".kdbx",
    b".keytab",
    b".ovpn",
    b".ppk",
    b".my.cnf",
    b".tfvars",
    b".tfvars.json",
    b".age",
    b"_rsa",
    b"_dsa",
    b"_ecdsa",
    b"_ed25519",
];
/// Prefixes of names of files that hold secrets, unless they are source files.
const SECRET_FILE_STARTS: [&[u8]; 5] =
    [b"env.", b"secring.", b".vault_pass", b".vault-pass", b"privatekey"];
/// Words, and ends of words, in the names of files that hold secrets.
const SECRET_WORDS: [&[u8]; 22] = [
    b"secret",
    b"secrets",
    b"token",
    b"tokens",
    b"password",
    b"passwords",
    b"passwd",
    b"passphrase",
    b"credential",
    b"credentials",
    b"kubeconfig",
    b"adminsdk",
    b"apikey",
    b"apikeys",
    b"privatekey",
    b"privatekeys",
    b"secretkey",
    b"secretkeys",
    b"accesskey",
    b"accesskeys",
    b"rootkey",
    b"privkey",
];
/// Words that mark a secret after another word, as in `deploy_key`.
const SECRET_SECOND_WORDS: [&[u8]; 2] = [b"key", b"keys"];
/// Extensions of source files, build products and pictures. The words in such names tell what the file is about, not
/// what it holds.
const CODE: [&[u8]; 62] = [
    b"a", b"c", b"cc", b"cjs", b"class", b"clj", b"cpp", b"cs", b"css", b"cts", b"cxx", b"d",
    b"dart", b"ejs", b"erb", b"erl", b"ex", b"exs", b"gif", b"go", b"h", b"hbs", b"hh", b"hpp",
    b"hs", b"htm", b"html", b"hxx", b"java", b"js", b"jsx", b"kt", b"less", b"lua", b"m", b"mjs",
    b"ml", b"mm", b"mts", b"o", b"php", b"pl", b"pm", b"png", b"proto", b"py", b"pyc", b"pyi",
    b"rb", b"rlib", b"rmeta", b"rs", b"sass", b"scala", b"scss", b"so", b"svelte", b"svg",
    b"swift", b"ts", b"tsx", b"vue",
];
/// Parts of the names of files with the key of a service account, which are JSON.
const ACCOUNTS: [&[u8]; 3] = [b"service-account", b"service_account", b"serviceaccount"];
/// Suffixes that editors and people give to earlier versions.
const BACKUPS: [&[u8]; 5] = [b"~", b".bak", b".old", b".orig", b".backup"];
/// Files that are identified only together with the name of their directory.
const SECRET_PLACES: [[&[u8]; 2]; 6] = [
    [b".docker", b"config.json"],
    [b".kube", b"config"],
    [b".composer", b"auth.json"],
    [b".m2", b"settings.xml"],
    [b".gradle", b"gradle.properties"],
    [b"gh", b"hosts.yml"],
];
/// The same for a file at the top of the workspace. Elsewhere this is a usual name for translations.
const SECRET_AT_TOP: &[u8] = b"auth.json";
/// Entries of `.git`, or of its stand-in, that say which programs git runs, or where git looks for that.
const DECIDE_IN_GIT: [&[u8]; 4] = [b"hooks", b"config", b"config.worktree", b"commondir"];
/// The same for the directory of each linked working tree.
const DECIDE_IN_WORKTREE: [&[u8]; 3] = [b"commondir", b"gitdir", b"config.worktree"];
/// The same if names do not tell which of the two it is.
const DECIDE_IN_EITHER: [&[u8]; 5] =
    [b"hooks", b"config", b"config.worktree", b"commondir", b"gitdir"];
/// The same in `.hg`.
const DECIDE_IN_HG: [&[u8]; 3] = [b"hgrc", b"hgrc-not-shared", b"sharedpath"];

/// Whether the file or directory at this path, relative to the workspace, may hold a secret, by its name or that of a
/// directory above.
pub(crate) fn is_secret(path: &[u8]) -> bool {
    let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
    path == SECRET_AT_TOP
        || names.iter().any(|name| is_secret_name(name))
        || names.windows(2).any(|pair| SECRET_PLACES.iter().any(|place| pair == place))
}

/// Whether the entry at this path, if it is a file, may hold a secret, by the words or the beginning of its name.
pub(crate) fn is_secret_file(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default().to_ascii_lowercase();
    let mut suffixes = name.split(|&byte| byte == b'.').skip(1);
    let is_code = suffixes.any(|suffix| CODE.contains(&suffix));
    let has_secret_start = || SECRET_FILE_STARTS.iter().any(|start| name.starts_with(start));
    !is_code && (has_secret_word(&name) || has_secret_second_word(&name) || has_secret_start())
}

fn has_secret_word(name: &[u8]) -> bool {
    let mut words = name.split(|byte| !byte.is_ascii_alphanumeric());
    words.any(|word| SECRET_WORDS.iter().any(|end| word.ends_with(end)))
}

fn has_secret_second_word(name: &[u8]) -> bool {
    let mut parts = name.split(|&byte| byte == b'.');
    parts.any(|part| {
        let words = part.split(|byte| !byte.is_ascii_alphanumeric());
        words.skip(1).any(|word| SECRET_SECOND_WORDS.contains(&word))
    })
}

/// Ignores case, as people do who give such names. A copy may also have a leading dot.
fn is_secret_name(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    let is_copy_of_secret = |of: &[u8]| {
        let bare = of.strip_prefix(b".");
        is_secret_name(of) || bare.is_some_and(is_secret_name)
    };
    is_secret_in_lower_case(&name) || copied(&name).is_some_and(is_copy_of_secret)
}

/// The name of the original of a copy, as editors, people, and programs that count copies name them.
fn copied(name: &[u8]) -> Option<&[u8]> {
    let backed_up = BACKUPS.iter().find_map(|end| name.strip_suffix(*end));
    let dot = || name.iter().rposition(|&byte| byte == b'.').filter(|&at| at > 0);
    backed_up.or_else(|| {
        let (of, end) = name.split_at(dot()?);
        let is_number = end.len() > 1 && end.iter().skip(1).all(u8::is_ascii_digit);
        (is_number || matches!(end, [b'.', b's', b'w', b'a'..=b'z'])).then_some(of)
    })
}

fn is_secret_in_lower_case(name: &[u8]) -> bool {
    let holds = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    SECRET_NAMES.contains(&name)
        || SECRET_DIRECTORIES.contains(&name.strip_prefix(b".").unwrap_or(name))
        || SECRET_STARTS.iter().any(|start| name.starts_with(start))
        || SECRET_ENDS.iter().any(|end| name.ends_with(end))
        || name.ends_with(b".json") && ACCOUNTS.iter().any(|part| holds(part))
}

/// Whether the name is that of a repository, which holds the contents of every version and the addresses of remotes.
pub(crate) fn is_history(name: &[u8]) -> bool {
    [&b".git"[..], b".hg", b".svn"].contains(&name)
}

/// Whether the entry at this path, relative to the workspace, decides what runs later and outside. A program that
/// writes files beside it need not write it.
pub(crate) fn decides_what_runs(path: &[u8]) -> bool {
    deciders(directory(path)).contains(&name(path))
}

/// The names of such entries in the directory at this path, relative to the workspace, whether they exist or not.
pub(crate) fn deciders(directory: &[u8]) -> &'static [&'static [u8]] {
    let names: Vec<&[u8]> = directory.split(|&byte| byte == b'/').collect();
    let mut ways = (0..names.len()).filter_map(|start| names.get(start..)?.split_first());
    let found = ways.find_map(|(name, below)| match *name {
        b".hg" if below.is_empty() => Some(&DECIDE_IN_HG[..]),
        // A bare repository has a name like this, too.
        name if name.ends_with(b".git") => Some(deciders_in_git(below)).filter(|it| !it.is_empty()),
        _ => None,
    });
    found.unwrap_or_default()
}

/// The same for a directory in `.git` whose path from there has these names.
fn deciders_in_git(names: &[&[u8]]) -> &'static [&'static [u8]] {
    match names {
        [] => &DECIDE_IN_GIT,
        [b"worktrees", _] => &DECIDE_IN_WORKTREE,
        // A linked working tree has its own submodules.
        [b"modules", module @ ..] | [b"worktrees", _, b"modules", module @ ..] => {
            deciders_in_modules(module)
        }
        _ => &[],
    }
}

fn deciders_in_modules(names: &[&[u8]]) -> &'static [&'static [u8]] {
    match names {
        [] => &[],
        _ if is_of_branches(names) => &[],
        [_, .., b"worktrees", _] => &DECIDE_IN_EITHER,
        _ => &DECIDE_IN_GIT,
    }
}

/// Whether this directory holds names of branches. A submodule may have the name of the directory that holds these.
fn is_of_branches(names: &[&[u8]]) -> bool {
    let holds =
        |part: &[&[u8]]| matches!(part, [around, b"refs" | b"logs", _] if *around != b"modules");
    names.windows(3).any(holds)
}

/// Whether git names the files in the directory at this path, relative to the workspace, by their contents. New files
/// there have other names each time: even two commits that differ only in their dates.
pub(crate) fn is_store_of_git(path: &[u8]) -> bool {
    let mut names = path.split(|&byte| byte == b'/');
    names.next_back() == Some(b"objects") && names.any(|name| name.ends_with(b".git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_hold_a_secret(path: &str) -> bool {
        is_secret(path.as_bytes()) || is_secret_file(path.as_bytes())
    }

    #[test]
    fn names_that_hold_secrets_or_run_things() {
        let names = ".env .env.local server.pem id_rsa .netrc master.key key.p12 store.jks .pgpass .pypirc .envrc \
                     .kube/config sub/.docker/config.json SERVER.KEY prod.env terraform.tfstate server.key.bak \
                     server.pem.old sub/.env~ .npmrc.orig .env-prod .env_test prod.tfvars prod.auto.tfvars.json \
                     terraform.tfstate.backup terraform.tfstate.1700000000.backup .my.cnf .s3cfg .boto auth.json \
                     .composer/auth.json my-service-account-key.json serviceAccountKey.json admin.conf key.gpg \
                     .dev.vars .dev.vars.prod vpn/home.ovpn krb5.keytab old.kdb keys.json key.json .dockerconfigjson \
                     wallet.dat server.pem.1 .npmrc.swp ..env.swp .id_rsa.swp server.key.bak.2";
        for name in names.split_whitespace() {
            assert!(is_secret(name.as_bytes()), "{name}");
        }
        let names = "config kube/config .docker/other.json keys a.keys key file.bak main.rs~ locales/en/auth.json \
                     auth.json5 service-account.yaml serviceaccount.go variables.tf .environment environment \
                     identity pem sub/ssh/deploy keyboard.json keys.rs monkeys.json env.rs env.py env.d.ts \
                     environment.ts env lib.so.1 main.rs.swp notes.1 wallet.data keytab.c privatekey.go .1 secring";
        for name in names.split_whitespace() {
            assert!(!may_hold_a_secret(name), "{name}");
        }
        assert!(is_secret(b"sub/.ssh/deploy"));
        assert!(decides_what_runs(b".git/hooks") && decides_what_runs(b"sub/.git/config"));
        assert!(!decides_what_runs(b"x.gitlab/config") && !decides_what_runs(b".git/index"));
    }

    #[test]
    fn names_that_hold_secrets() {
        let names = "secretkey.txt secretKey accessKeys.csv rootkey.csv deploy_rsa github_ed25519 keys.txt db.age \
                     privkey.txt .authinfo .pg_service.conf .config/gh/hosts.yml .m2/settings.xml wp-config.php";
        for name in names.split_whitespace() {
            assert!(may_hold_a_secret(name), "{name}");
        }
        let names =
            "monkey.txt keys.rs hosts.yml settings.xml rsa.c storage config.php accesskeys.html";
        for name in names.split_whitespace() {
            assert!(!may_hold_a_secret(name), "{name}");
        }
    }

    /// Git finds its configuration and hooks through several files.
    #[test]
    fn what_leads_git_to_other_programs_decides_what_runs() {
        let names = ".git/commondir .git/config.worktree .git/worktrees/w/commondir .git/worktrees/w/gitdir \
                     .git/worktrees/w/config.worktree .git/modules/m/config .git/modules/a/b/hooks \
                     sub/.git/modules/m/commondir .git/modules/m/modules/n/config.worktree .git/modules/logs/config \
                     .git/modules/a/logs/hooks .git/modules/m/modules/refs/commondir \
                     .git/modules/m/worktrees/w/gitdir .git/modules/a/worktrees/b/hooks \
                     .git/worktrees/w/modules/m/config x.git/config sub/x.git/hooks x.git/worktrees/w/gitdir \
                     .git/worktrees/w.git/gitdir .git/modules/m.git/config x.git/y/.git/config .hg/hgrc \
                     sub/.hg/sharedpath .hg/hgrc-not-shared";
        for name in names.split_whitespace() {
            assert!(decides_what_runs(name.as_bytes()), "{name}");
        }
        let names = ".git .git/HEAD .git/worktrees/w/HEAD .git/worktrees/w .git/modules/m/HEAD .git/modules/config \
                     .git/modules/m/refs/heads/config .git/refs/heads/config .git/modules/m/logs/refs/heads/hooks \
                     .git/hooks/pre-commit commondir .git/worktrees/config .git/worktrees/w/modules/config \
                     .git/modules/logs/refs/heads/config .git/worktrees/w/refs/bisect/config \
                     .hg/store/hgrc x.hg/hgrc hgrc x.git/HEAD x.git/refs/heads/config config.git";
        for name in names.split_whitespace() {
            assert!(!decides_what_runs(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn files_of_secrets_are_known_by_the_words_of_their_names() {
        let names = "credentials.json secrets.yml gcp-credentials.json .vault-token .git-credentials k8s/secret.yaml \
                     .credentials .token token.txt github_token passwords.txt secret secret.txt deploy_key \
                     private_key.asc client_secret.json client_secret_123.apps.json gcp-key.json \
                     firebase-adminsdk.json prod.secret.yaml values-secret.yaml secrets-prod.yaml kubeconfig \
                     kubeconfig.yaml api-keys.json clientSecret.json TOKEN token.txt.bak .netrc-token~ env.local \
                     env.production env.local.swp .vault_pass .vault-pass.txt secring.gpg~ secring.dat privatekey \
                     privatekey2.txt PrivateKey.asc .privatekey.swp";
        for name in names.split_whitespace() {
            assert!(may_hold_a_secret(name), "{name}");
        }
        let names = "token.rs tokenizer.py tokenizer.json password_reset.html password_reset.html.erb secret.rs \
                     secrets.py token.d.ts __pycache__/token.cpython-312.pyc.1402341 api-key.svg lib-token.rmeta \
                     secretary.txt monkey.json hot-keyboard.json key-value.json";
        for name in names.split_whitespace() {
            assert!(!may_hold_a_secret(name), "{name}");
        }
    }

    /// Such words alone do not identify a directory of secrets: packages and sources have such names.
    #[test]
    fn directories_of_secrets_are_called_that_alone() {
        for name in ["secrets/a", "sub/private/a.rs", ".credentials/x/y", "Secret/a", "passwords/a"]
        {
            assert!(is_secret(name.as_bytes()), "{name}");
        }
        for name in ["js-tokens/index.js", "token/mod.rs", "tokens/colors.json", "private-parts/a"]
        {
            assert!(!may_hold_a_secret(name), "{name}");
        }
    }
}
