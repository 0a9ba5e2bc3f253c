//! Keeps secrets and ways out of a run from being suggested (spec §18). A person who means it can still type them.

use std::ffi::OsStr;
use std::path::Path;

/// What of `~/.ssh` is no private key.
const OPEN: [&str; 6] =
    ["config", "config.d", "known_hosts", "known_hosts.old", "authorized_keys", "environment"];

/// Why granting `path` is never suggested, with another way.
pub(super) fn refused(path: &Path) -> Option<&'static str> {
    let names: Vec<&OsStr> = path.iter().collect();
    let has = |name: &str| names.iter().any(|one| *one == name);
    let begins =
        |start: &str| names.iter().any(|one| one.as_encoded_bytes().starts_with(start.as_bytes()));
    let last = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let in_ssh = path.parent().is_some_and(|parent| parent.ends_with(".ssh"));
    let is_public = path.extension().is_some_and(|it| it == "pub");
    if in_ssh && !OPEN.contains(&last) && !is_public && path.is_file() {
        return Some("a private key: ssh-agent uses it, and no program has to read it");
    }
    if has("private-keys-v1.d") {
        return Some("private keys: gpg-agent uses them, and no program has to read them");
    }
    if path.parent() == Some(Path::new("/etc")) && last.trim_end_matches('-').ends_with("shadow") {
        return Some("the system's passwords: a run needs none of them");
    }
    let is_temporary = path.starts_with("/tmp") || path.starts_with("/run");
    if is_temporary && (begins("tmux-") || has("screen") || begins("screens")) {
        return Some("the socket of a terminal outside: commands typed there run unconfined");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_ways_out_are_known() {
        let home = tempfile::tempdir().expect("a directory");
        let ssh = home.path().join(".ssh");
        std::fs::create_dir(&ssh).expect("a directory");
        for (name, is_key) in [
            ("id_ed25519", true),
            ("work", true),
            ("id_ed25519.pub", false),
            ("known_hosts", false),
        ] {
            std::fs::write(ssh.join(name), "x").expect("written");
            assert_eq!(refused(&ssh.join(name)).is_some(), is_key, "{name}");
        }
        for (path, is_refused) in [
            ("/home/me/.gnupg/private-keys-v1.d/A.key", true),
            ("/etc/shadow", true),
            ("/etc/gshadow-", true),
            ("/etc/passwd", false),
            ("/tmp/tmux-1000/default", true),
            ("/run/screen/S-me/1.pts", true),
            ("/srv/tmux-1000/default", false),
            ("/home/me/.gitconfig", false),
        ] {
            assert_eq!(refused(Path::new(path)).is_some(), is_refused, "{path}");
        }
    }
}
