//! What names tell: which files hold secrets, which decide what runs, and which are made up anew each
//! time.

/// Beginnings of names of files that hold secrets, and whole names.
const SECRET_STARTS: [&[u8]; 3] = [b".env.", b"id_", b"credentials"];
const SECRET_NAMES: [&[u8]; 7] =
    [b".env", b".ssh", b".gnupg", b".aws", b".netrc", b".npmrc", b".git-credentials"];

/// How many characters `mktemp` makes up.
const RANDOM: usize = 6;

/// Whether a file of this name may hold a secret.
pub(crate) fn is_secret(name: &[u8]) -> bool {
    SECRET_NAMES.contains(&name)
        || SECRET_STARTS.iter().any(|start| name.starts_with(start))
        || name.ends_with(b".pem")
}

/// Whether what is at this path, workspace-relative, says what runs later and outside: whoever writes
/// beside it need not write it.
pub(crate) fn decides_what_runs(path: &[u8]) -> bool {
    let is = |end: &[u8]| path == end || path.ends_with(&[b"/", end].concat());
    is(b".git/hooks") || is(b".git/config")
}

/// Whether a program seems to have made the name up: it will be another one next time.
pub(crate) fn is_made_up(name: &[u8]) -> bool {
    let starts: [&[u8]; 5] = [b"#", b".#", b"tmp", b".tmp", b"temp-"];
    let ends: [&[u8]; 5] = [b"~", b".tmp", b".temp", b".swp", b".part"];
    starts.iter().any(|start| name.starts_with(start))
        || ends.iter().any(|end| name.ends_with(end))
        || name.split(|byte| !byte.is_ascii_alphanumeric()).any(is_random)
        || is_numbered(name)
}

/// Whether a name that did not last may be one of `mktemp`'s, which ends in six letters and digits: a
/// word has neither capitals nor digits there.
pub(crate) fn may_be_random(name: &[u8]) -> bool {
    let end = name.len().checked_sub(RANDOM).and_then(|start| name.get(start..));
    end.is_some_and(|end| {
        end.iter().all(u8::is_ascii_alphanumeric) && !end.iter().all(u8::is_ascii_lowercase)
    })
}

/// A word as of `mktemp` or a hash: no language has such.
fn is_random(word: &[u8]) -> bool {
    let has = |kind: fn(&u8) -> bool| word.iter().any(kind);
    let digits = has(u8::is_ascii_digit);
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let hash = word.len() >= 7 && word.iter().all(is_hex) && has(u8::is_ascii_lowercase);
    let mixed = word.len() >= 6 && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let numerals = word.iter().filter(|byte| byte.is_ascii_digit()).count();
    let base36 = word.len() >= 10 && numerals >= 3 && has(u8::is_ascii_lowercase);
    digits && (hash || mixed || base36)
}

/// A process number at the end.
fn is_numbered(name: &[u8]) -> bool {
    let mut parts = name.rsplit(|byte| b".-_".contains(byte));
    let last = parts.next().unwrap_or_default();
    parts.next().is_some() && last.len() >= 4 && last.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_will_be_others_next_time() {
        let made_up = [
            "#123",
            "tmp.Xa9kQz",
            "sedA1b2C3",
            "main.rs~",
            ".main.rs.swp",
            "prog-1a2b3c4d5e6f7a8b",
            "4b825dc",
            "core.12345",
            "s-h6q0a2k1zx-0t6dn3c",
            "tmp_obj_abc",
        ];
        for name in made_up {
            assert!(is_made_up(name.as_bytes()), "{name}");
        }
        let stable = [
            "Cargo.lock",
            "main.rs",
            "README.md",
            "index",
            "HEAD",
            "x86_64",
            "build-script-build",
            "utf8parse",
            "libfoo.so.1",
            "COMMIT_EDITMSG",
            "2024",
            "report-2024a",
            "CamelCase",
        ];
        for name in stable {
            assert!(!is_made_up(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn names_that_did_not_last() {
        for name in ["targetAbCdEf", "sedaBcdef", "tmpabcde1"] {
            assert!(may_be_random(name.as_bytes()), "{name}");
        }
        for name in ["index.lock", "newfile", "MERGE_HEAD", "a1", ""] {
            assert!(!may_be_random(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn names_that_hold_secrets_or_run_things() {
        for name in [".env", ".env.local", "server.pem", "id_rsa", "credentials.json", ".netrc"] {
            assert!(is_secret(name.as_bytes()), "{name}");
        }
        assert!(!is_secret(b"environment") && !is_secret(b"identity") && !is_secret(b"pem"));
        assert!(decides_what_runs(b".git/hooks") && decides_what_runs(b"sub/.git/config"));
        assert!(!decides_what_runs(b"x.git/config") && !decides_what_runs(b".git/index"));
    }
}
