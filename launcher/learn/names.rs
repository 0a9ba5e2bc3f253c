//! What names tell: which files hold secrets, and which decide what runs.

/// Beginnings of names of files that hold secrets, and whole names.
const SECRET_STARTS: [&[u8]; 3] = [b".env.", b"id_", b"credentials"];
const SECRET_NAMES: [&[u8]; 7] =
    [b".env", b".ssh", b".gnupg", b".aws", b".netrc", b".npmrc", b".git-credentials"];

/// Whether what is at this path, workspace-relative, may hold a secret, by its name or that of a directory it is in.
pub(crate) fn is_secret(path: &[u8]) -> bool {
    path.split(|&byte| byte == b'/').any(is_secret_name)
}

fn is_secret_name(name: &[u8]) -> bool {
    SECRET_NAMES.contains(&name)
        || SECRET_STARTS.iter().any(|start| name.starts_with(start))
        || name.ends_with(b".pem")
}

/// Whether it is where a history is kept, with what every version had in it and who else has it.
pub(crate) fn is_history(name: &[u8]) -> bool {
    [&b".git"[..], b".hg", b".svn"].contains(&name)
}

/// Whether what is at this path, workspace-relative, says what runs later and outside: whoever writes
/// beside it need not write it.
pub(crate) fn decides_what_runs(path: &[u8]) -> bool {
    let is = |end: &[u8]| path == end || path.ends_with(&[b"/", end].concat());
    is(b".git/hooks") || is(b".git/config")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_hold_secrets_or_run_things() {
        for name in [".env", ".env.local", "server.pem", "id_rsa", "credentials.json", ".netrc"] {
            assert!(is_secret(name.as_bytes()), "{name}");
        }
        assert!(is_secret(b"sub/.ssh/deploy") && !is_secret(b"sub/ssh/deploy"));
        assert!(!is_secret(b"environment") && !is_secret(b"identity") && !is_secret(b"pem"));
        assert!(decides_what_runs(b".git/hooks") && decides_what_runs(b"sub/.git/config"));
        assert!(!decides_what_runs(b"x.git/config") && !decides_what_runs(b".git/index"));
    }
}
