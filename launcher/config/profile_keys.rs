//! Maps the keys of a table of ready-made grants to capabilities, and back.

use jp_confine_engine::Capabilities;

/// The keys with the capabilities that each grants, narrower ones first.
pub(crate) const KEYS: [(&str, Capabilities); 5] = [
    ("read", Capabilities::READ),
    ("exec", Capabilities::READ.union(Capabilities::EXECUTE)),
    ("update", Capabilities::READ.union(Capabilities::UPDATE)),
    ("write", Capabilities::READ.union(Capabilities::WRITE)),
    ("deny", Capabilities::NONE),
];

/// The fewest keys that together grant all of `wanted` on a path, with the capabilities of each.
pub(crate) fn keys_for(wanted: Capabilities) -> Vec<(&'static str, Capabilities)> {
    let key = |wanted| KEYS.into_iter().find(|(_, caps)| caps.contains(wanted));
    if let Some(one) = key(wanted) {
        return vec![one];
    }
    let execute = wanted.intersection(Capabilities::EXECUTE);
    key(execute).into_iter().chain(key(wanted.difference(execute))).collect()
}

/// The capabilities that [`keys_for`] grants together.
pub(crate) fn granted_for(wanted: Capabilities) -> Capabilities {
    keys_for(wanted).into_iter().fold(Capabilities::NONE, |all, (_, caps)| all.union(caps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stands_under_as_few_keys_as_do() {
        let (read, update) = (Capabilities::READ, Capabilities::UPDATE);
        let (create, execute) = (Capabilities::CREATE, Capabilities::EXECUTE);
        for (wanted, expected) in [
            (read, "read"),
            (execute, "exec"),
            (update, "update"),
            (create, "write"),
            (update.union(execute), "exec update"),
            (Capabilities::ALL, "exec write"),
        ] {
            let keys: Vec<&str> = keys_for(wanted).into_iter().map(|(key, _)| key).collect();
            assert_eq!(keys.join(" "), expected);
            assert!(granted_for(wanted).contains(wanted), "{expected}");
        }
    }
}
