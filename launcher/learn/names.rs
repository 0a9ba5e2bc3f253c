//! What names tell: which files hold secrets, and which decide what runs.

/// Names of files that hold secrets, and of directories for them.
const SECRET_NAMES: [&[u8]; 16] = [
    b"_netrc",
    b".secrets",
    b"kubeconfig",
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
    b".vault-token",
    b".git-credentials",
];
/// Beginnings of such names.
const SECRET_STARTS: [&[u8]; 4] = [b".env.", b"id_", b"credentials", b"secrets."];
/// Endings of such names.
const SECRET_ENDS: [&[u8]; 12] = [
    b".env",
    b".p8",
    b".tfstate",
    b".pem",
    b".key",
    b".p12",
    b".pfx",
    b".jks",
    b".keystore",
    b".kdbx",
    b".ppk",
    b"credentials.json",
];
/// Files whose names alone tell nothing, with the directories that they are in.
const SECRET_PLACES: [[&[u8]; 2]; 2] = [[b".docker", b"config.json"], [b".kube", b"config"]];

/// Whether what is at this path, workspace-relative, may hold a secret, by its name or that of a directory it is in.
pub(crate) fn is_secret(path: &[u8]) -> bool {
    let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
    names.iter().any(|name| is_secret_name(name))
        || names.windows(2).any(|pair| SECRET_PLACES.iter().any(|place| pair == place))
}

/// Whoever gives such a name does not mind its case.
fn is_secret_name(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.contains(&&*name)
        || SECRET_STARTS.iter().any(|start| name.starts_with(start))
        || SECRET_ENDS.iter().any(|end| name.ends_with(end))
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
        for name in [
            ".env",
            ".env.local",
            "server.pem",
            "id_rsa",
            "credentials.json",
            ".netrc",
            "master.key",
            "key.p12",
            "store.jks",
            ".pgpass",
            ".pypirc",
            ".envrc",
            ".vault-token",
            "secrets.yml",
            "gcp-credentials.json",
            ".kube/config",
            "sub/.docker/config.json",
            "SERVER.KEY",
            "prod.env",
            "terraform.tfstate",
            "kubeconfig",
        ] {
            assert!(is_secret(name.as_bytes()), "{name}");
        }
        for name in
            ["config", "kube/config", ".docker/other.json", "keys", "secrets", "a.keys", "key"]
        {
            assert!(!is_secret(name.as_bytes()), "{name}");
        }
        assert!(is_secret(b"sub/.ssh/deploy") && !is_secret(b"sub/ssh/deploy"));
        assert!(!is_secret(b"environment") && !is_secret(b"identity") && !is_secret(b"pem"));
        assert!(decides_what_runs(b".git/hooks") && decides_what_runs(b"sub/.git/config"));
        assert!(!decides_what_runs(b"x.git/config") && !decides_what_runs(b".git/index"));
    }
}
