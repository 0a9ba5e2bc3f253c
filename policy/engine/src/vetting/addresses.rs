//! Says which addresses of repositories are ordinary. For these git starts no program but ssh, without options from the
//! address, and no hook of a repository that the run can change.

use crate::vetting::facts::Facts;

/// Schemes that git knows itself. For any other it starts a program of that name.
const SCHEMES: &[&[u8]] = &[b"https", b"http", b"ssh", b"git", b"git+ssh", b"ssh+git"];

/// Whether a remote may have this address.
pub(super) fn is_ordinary(address: &[u8], facts: &Facts<'_>) -> bool {
    if address.is_empty() || address.starts_with(b"-") || !address.iter().copied().all(is_printed) {
        return false;
    }
    if let Some((scheme, rest)) = cut(address, b"://") {
        return match scheme {
            b"file" => is_place(rest, facts),
            b"http" | b"https" => is_host(authority(rest)) && !hides_a_control(rest),
            _ => SCHEMES.contains(&scheme) && is_host(authority(rest)) && has_plain_path(rest),
        };
    }
    let colon = position(address, b':');
    let slash = position(address, b'/').unwrap_or(address.len());
    match colon {
        // As scp has it: a host, and a path there.
        Some(colon) if colon < slash => {
            let (host, path) = (&address[..colon], &address[colon + 1..]);
            is_host(host) && !path.starts_with(b":") && !path.starts_with(b"-")
        }
        _ => is_place(address, facts),
    }
}

/// Whether a remote may have this name. Git must not read it as a path, address or option.
pub(super) fn is_remote_name(name: &[u8]) -> bool {
    let has_colon = name.contains(&b':');
    let starts_plainly = name.first().is_some_and(|first| !matches!(first, b'-' | b'/' | b'.'));
    starts_plainly && !has_colon && name.iter().copied().all(is_printed)
}

/// Whether an absolute path is that of a repository that the run cannot change. A push there starts its hooks.
fn is_place(path: &[u8], facts: &Facts<'_>) -> bool {
    // `git clone .` writes such a path.
    let path = path.strip_suffix(b"/.").or_else(|| path.strip_suffix(b"/")).unwrap_or(path);
    let mut names = path.split(|&byte| byte == b'/');
    let is_absolute = names.next() == Some(b"") && path.len() > 1;
    let is_plain = names.all(|name| !matches!(name, b"" | b"." | b".."));
    // In a file address, percent signs are read as escapes.
    is_absolute && is_plain && !path.contains(&b'%') && (facts.is_out_of_reach)(path)
}

/// Whether ssh reads it as a user and a host, however it is decoded.
fn is_host(authority: &[u8]) -> bool {
    let host = authority.rsplit(|&byte| byte == b'@').next().unwrap_or(authority);
    let has_option = [authority, host].iter().any(|part| part.starts_with(b"-"));
    let has_name = host.iter().any(u8::is_ascii_alphanumeric);
    !has_option && has_name && !host.contains(&b'%')
}

/// Whether nothing in the path of an address is read as an option, or as the end of a line.
fn has_plain_path(rest: &[u8]) -> bool {
    let path = &rest[authority(rest).len()..];
    !path.starts_with(b"/-") && !path.contains(&b'%')
}

/// Whether a control character is written as an escape. It would end a line in the text that git sends to credential
/// helpers.
fn hides_a_control(text: &[u8]) -> bool {
    text.windows(2).any(|window| matches!(window, b"%0" | b"%1"))
}

/// The user, host and port after a scheme.
fn authority(rest: &[u8]) -> &[u8] {
    &rest[..position(rest, b'/').unwrap_or(rest.len())]
}

fn cut<'a>(text: &'a [u8], mark: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = text.windows(mark.len()).position(|window| window == mark)?;
    Some((&text[..at], &text[at + mark.len()..]))
}

fn position(text: &[u8], byte: u8) -> Option<usize> {
    text.iter().position(|&one| one == byte)
}

const fn is_printed(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f
}
