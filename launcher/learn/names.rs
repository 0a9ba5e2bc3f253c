//! What names tell: which files hold secrets, and which decide what runs.

/// Names of files that hold secrets, and of directories for them.
const SECRET_NAMES: [&[u8]; 22] = [
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
    b".my.cnf",
    b".s3cfg",
    b".boto",
    b"secret.yaml",
    b"secret.yml",
    b"secret.json",
];
/// Beginnings of such names.
const SECRET_STARTS: [&[u8]; 7] =
    [b".env.", b".env-", b".env_", b"id_", b"credentials", b"secrets.", b"terraform.tfstate"];
/// Endings of such names.
const SECRET_ENDS: [&[u8]; 14] = [
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
    b".tfvars",
    b".tfvars.json",
];
/// What is in the names of files with the key of a service account, which are JSON.
const ACCOUNTS: [&[u8]; 3] = [b"service-account", b"service_account", b"serviceaccount"];
/// Endings that editors and people give to what was there before.
const BACKUPS: [&[u8]; 5] = [b"~", b".bak", b".old", b".orig", b".backup"];
/// Files whose names alone tell nothing, with the directories that they are in.
const SECRET_PLACES: [[&[u8]; 2]; 3] =
    [[b".docker", b"config.json"], [b".kube", b"config"], [b".composer", b"auth.json"]];
/// The same of such at the top of the workspace: elsewhere translations are called so.
const SECRET_AT_TOP: &[u8] = b"auth.json";

/// Whether what is at this path, workspace-relative, may hold a secret, by its name or that of a directory it is in.
pub(crate) fn is_secret(path: &[u8]) -> bool {
    let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
    path == SECRET_AT_TOP
        || names.iter().any(|name| is_secret_name(name))
        || names.windows(2).any(|pair| SECRET_PLACES.iter().any(|place| pair == place))
}

/// Whoever gives such a name does not mind its case.
fn is_secret_name(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    let backed_up = BACKUPS.iter().find_map(|end| name.strip_suffix(*end));
    is_secret_in_lower_case(backed_up.unwrap_or(&name))
}

fn is_secret_in_lower_case(name: &[u8]) -> bool {
    let holds = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    SECRET_NAMES.contains(&name)
        || SECRET_STARTS.iter().any(|start| name.starts_with(start))
        || SECRET_ENDS.iter().any(|end| name.ends_with(end))
        || name.ends_with(b".json") && ACCOUNTS.iter().any(|part| holds(part))
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
            "server.key.bak",
            "server.pem.old",
            "sub/.env~",
            ".npmrc.orig",
            ".env-prod",
            ".env_test",
            "prod.tfvars",
            "prod.auto.tfvars.json",
            "terraform.tfstate.backup",
            "terraform.tfstate.1700000000.backup",
            "k8s/secret.yaml",
            ".my.cnf",
            ".s3cfg",
            ".boto",
            "auth.json",
            ".composer/auth.json",
            "my-service-account-key.json",
            "serviceAccountKey.json",
        ] {
            assert!(is_secret(name.as_bytes()), "{name}");
        }
        for name in [
            "config",
            "kube/config",
            ".docker/other.json",
            "keys",
            "secrets",
            "a.keys",
            "key",
            "file.bak",
            "main.rs~",
            "locales/en/auth.json",
            "auth.json5",
            "secret.rs",
            "service-account.yaml",
            "serviceaccount.go",
            "variables.tf",
            ".environment",
        ] {
            assert!(!is_secret(name.as_bytes()), "{name}");
        }
        assert!(is_secret(b"sub/.ssh/deploy") && !is_secret(b"sub/ssh/deploy"));
        assert!(!is_secret(b"environment") && !is_secret(b"identity") && !is_secret(b"pem"));
        assert!(decides_what_runs(b".git/hooks") && decides_what_runs(b"sub/.git/config"));
        assert!(!decides_what_runs(b"x.git/config") && !decides_what_runs(b".git/index"));
    }
}
