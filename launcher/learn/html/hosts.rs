//! Renders the part of the page about the network: the hosts, and the programs that connected to them.

use std::fmt::Write as _;

use super::escaped;
use crate::learn::hosts::{Hosts, Visits};
use crate::text::quote;

/// Writes this part, unless the network was closed by an option.
pub(super) fn write(text: &mut String, hosts: &Hosts) {
    let (targets, unruled) = match hosts {
        Hosts::Closed => return,
        Hosts::Unseen => {
            text.push_str("<h2>Hosts</h2>\n<p>What the proxy was asked for is not recorded.</p>\n");
            return;
        }
        Hosts::Seen { targets, unruled } => (targets, unruled),
    };
    text.push_str("<h2>Hosts</h2>\n");
    if targets.is_empty() && unruled.is_empty() {
        text.push_str("<p>It connected to no host.</p>\n");
        return;
    }
    text.push_str("<table>\n<tr><th>host</th><th>connected by</th></tr>\n");
    for (target, visits) in targets {
        row(text, target, visits);
    }
    for one in unruled {
        let one = escaped(&quote::path(one));
        let _ = writeln!(
            text,
            "<tr data-words=\"host {one}\"><td>{one}</td><td>no rule can allow it</td></tr>"
        );
    }
    text.push_str("</table>\n");
}

fn row(text: &mut String, target: &str, visits: &Visits) {
    let target = escaped(&quote::path(target));
    let programs: Vec<String> = visits
        .programs
        .iter()
        .map(|(program, times)| format!("{} {times}×", escaped(program)))
        .collect();
    let programs = programs.join(", ");
    let _ = writeln!(
        text,
        "<tr data-words=\"host {target} {programs}\"><td>{target}</td><td>{programs}</td></tr>"
    );
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn page(hosts: &Hosts) -> String {
        let mut text = String::new();
        write(&mut text, hosts);
        text
    }

    #[test]
    fn hosts_are_listed_with_who_connected_and_names_are_text() {
        let programs = BTreeMap::from([("<curl>".to_owned(), 2), ("git".to_owned(), 1)]);
        let visits = Visits { times: 3, programs };
        let targets = BTreeMap::from([("a.test:443".to_owned(), visits)]);
        let unruled = BTreeSet::from(["connect to @\"x".to_owned()]);
        let text = page(&Hosts::Seen { targets, unruled });
        assert!(text.contains("<td>a.test:443</td><td>&lt;curl&gt; 2×, git 1×</td>"), "{text}");
        assert!(text.contains("data-words=\"host a.test:443 "), "{text}");
        assert!(text.contains("<td>connect to @&quot;x</td><td>no rule can allow it"), "{text}");
    }

    #[test]
    fn where_nothing_is_known_the_page_says_so_or_nothing() {
        let none = Hosts::Seen { targets: BTreeMap::new(), unruled: BTreeSet::new() };
        assert!(page(&none).contains("no host"));
        assert!(page(&Hosts::Unseen).contains("proxy"));
        assert_eq!(page(&Hosts::Closed), "");
    }
}
