//! Renders a page about everything that was touched: one file that loads nothing, and is readable without its script.

mod hosts;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use jp_confine_engine::{Capability, views};

use super::replay::ReplayStage;
use super::{policy_file, usage_counts};
use crate::advice::advisor::Advisor;
use crate::compile::image;
use crate::learn::learned::Learned;
use crate::learn::text::{short, shown};
use crate::output::Style;
use crate::record::denial::Denial;
use crate::record::usage::{Use, UseKind};
use crate::report::why::explained;
use crate::report::why::record::ExplainedDenial;
use crate::text::quote;

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/search.js");

/// The page may use only its own contents, whatever names are in it.
const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
    style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";

const BAR: &str = "<div class=\"bar\"><input type=\"search\" aria-label=\"Search\" \
    placeholder=\"Search paths, hosts, programs, capabilities ( / )\"><output></output>\
    <button id=\"open\">Open all</button><button id=\"close\">Close all</button></div>\n";

/// A path with its uses, and the paths below it.
#[derive(Debug, Default)]
struct Place {
    below: BTreeMap<Vec<u8>, Place>,
    times: BTreeMap<Capability, u64>,
    denied: BTreeMap<String, u64>,
    programs: BTreeSet<String>,
    /// The path existed, or was created.
    found: bool,
}

/// The page about what was learned.
pub(crate) fn page(learned: &Learned<'_>, stage: &ReplayStage<'_>) -> String {
    let (mut inside, mut outside) = (Place::default(), Place::default());
    let image = image::parse_image(&learned.ran.prepared.image).ok();
    let named = |path| image.as_ref().map_or(Cow::Borrowed(path), |image| views::seen(image, path));
    for (one, count) in &learned.uses.counts {
        for part in one.parts() {
            let place = pick(&mut inside, &mut outside, stage, &named(part.path));
            place.programs.insert(short(&one.program));
            place.found |= one.how != UseKind::Absent;
            for capability in part.caps.iter() {
                *place.times.entry(capability).or_default() += count;
            }
        }
    }
    let denials = &learned.ran.denials;
    let refused = denials.open().iter().chain(denials.hidden());
    for (denial, times) in refused.filter(|(denial, _)| !denial.reason.is_network()) {
        let place = pick(&mut inside, &mut outside, stage, &named(&denial.path));
        place.programs.insert(short(&denial.program));
        *place.denied.entry(explained::asked(denial)).or_default() += times;
    }
    let command = escaped(&policy_file::command(learned));
    let mut text = String::from(HEAD);
    let _ = write!(
        text,
        "<title>{command}: what was touched</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>What <code>{command}</code> touched</h1>\n<p>{}</p>\n{BAR}",
        escaped(&facts(learned, stage))
    );
    table_of_denials(&mut text, learned);
    hosts::write(&mut text, &learned.hosts);
    let root = escaped(&quote::place(stage.root));
    let _ = write!(text, "<h2>In the workspace {root}</h2>\n<ul class=\"top\">\n");
    inside.write_all(&mut text, "", true);
    text.push_str("</ul>\n<h2>Outside of it</h2>\n<ul class=\"top\">\n");
    outside.write_all(&mut text, "/", false);
    let policy = escaped(&policy_file::policy(learned));
    let _ = write!(
        text,
        "</ul>\n<h2>The policy</h2>\n<pre>{policy}</pre>\n<script>\n{SCRIPT}</script>\n</body>\n\
         </html>\n"
    );
    text
}

fn facts(learned: &Learned<'_>, stage: &ReplayStage<'_>) -> String {
    let mut paths = BTreeSet::new();
    let parts = learned.uses.counts.keys().flat_map(Use::parts);
    for part in parts.filter(|part| stage.inside(part.path).is_some()) {
        paths.insert(part.path);
    }
    format!(
        "Exit status {}; {}; {} in the workspace, {}.",
        learned.ran.end.status(),
        usage_counts::in_all(learned.uses),
        usage_counts::counted(paths.len() as u64, "path"),
        usage_counts::counted(learned.rules.len() as u64, "rule")
    )
}

/// The place of `path` in one of the two trees.
fn pick<'t>(
    inside: &'t mut Place,
    outside: &'t mut Place,
    stage: &ReplayStage<'_>,
    path: &[u8],
) -> &'t mut Place {
    let (tree, path) = match stage.inside(path) {
        Some(path) => (inside, path),
        None => (outside, path),
    };
    let names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
    names.fold(tree, |place, name| place.below.entry(name.to_vec()).or_default())
}

/// The denials, each with its suggestion.
fn table_of_denials(text: &mut String, learned: &Learned<'_>) {
    let denials = &learned.ran.denials;
    if denials.total() + denials.total_hidden() == 0 {
        return;
    }
    let Ok(image) = image::parse_image(&learned.ran.prepared.image) else { return };
    let advisor = Advisor::of(learned.context, &learned.ran.prepared, &image);
    text.push_str(
        "<h2>Denied</h2>\n<table>\n<tr><th>what</th><th>path</th><th>program</th><th>rule</th>\
         <th>what allows it</th></tr>\n",
    );
    for (denial, times) in denials.open().iter().chain(denials.hidden()) {
        row(text, denial, *times, advisor);
    }
    text.push_str("</table>\n");
}

fn row(text: &mut String, denial: &Denial, times: u64, advisor: Advisor<'_>) {
    let path = escaped(&quote::printable(&advisor.named(&denial.path)));
    let program = escaped(&short(&denial.program));
    let asked = escaped(&explained::asked(denial));
    let mut explained = ExplainedDenial::of(denial, times, advisor.advise(denial), &advisor);
    explained.show_for(advisor.here);
    let rule = explained.rule.as_deref().unwrap_or("no rule covers it");
    let steps = explained.steps(advisor.workspace, Style::PLAIN).join("; ");
    let _ = writeln!(
        text,
        "<tr data-words=\"denied {asked} {path} {program}\"><td class=\"denied\">{asked}</td>\
         <td>{path}</td><td>{program} {times}×</td><td>{}</td><td>{}</td></tr>",
        escaped(rule),
        escaped(&steps)
    );
}

impl Place {
    /// Writes the place at `path` itself, if it was used, and then everything below it.
    fn write_all(&self, text: &mut String, path: &str, open: bool) {
        if !self.programs.is_empty() {
            let _ =
                writeln!(text, "<li{}><span>{path}.{}</span></li>", self.words(path), self.facts());
        }
        for (name, place) in &self.below {
            place.write(text, path, name, open);
        }
    }

    fn write(&self, text: &mut String, above: &str, name: &[u8], open: bool) {
        let mut label = escaped(&shown(name));
        // Directories that were only passed through share a line with the next one.
        let mut place = self;
        while place.programs.is_empty()
            && let (1, Some((name, only))) = (place.below.len(), place.below.iter().next())
        {
            let _ = write!(label, "/{}", escaped(&shown(name)));
            place = only;
        }
        let path = format!("{above}{label}");
        let (words, facts) = (place.words(&path), place.facts());
        if place.below.is_empty() {
            let _ = writeln!(text, "<li{words}><span>{label}{facts}</span></li>");
            return;
        }
        let open_now = if open { " open" } else { "" };
        let _ = writeln!(
            text,
            "<li{words}><details{open_now}><summary>{label}/{facts}{}</summary>\n<ul>",
            place.rest()
        );
        for (name, below) in &place.below {
            below.write(text, &format!("{path}/"), name, false);
        }
        text.push_str("</ul></details></li>\n");
    }

    /// The words to find it by.
    fn words(&self, path: &str) -> String {
        let capabilities = self.times.keys().map(|capability| capability.as_str().to_owned());
        let denied = self.denied.keys().map(|what| format!("denied {}", escaped(what)));
        let programs = self.programs.iter().map(|program| escaped(program));
        let words: Vec<String> = capabilities.chain(denied).chain(programs).collect();
        format!(" data-words=\"{path} {}\"", words.join(" "))
    }

    /// The uses, and the programs.
    fn facts(&self) -> String {
        let mut text = String::new();
        for (capability, times) in &self.times {
            let _ = write!(text, "<b class=\"{capability}\">{capability}&nbsp;{times}×</b>");
        }
        for (what, times) in &self.denied {
            let _ = write!(text, "<b class=\"denied\">denied {}&nbsp;{times}×</b>", escaped(what));
        }
        if !self.times.is_empty() && !self.found {
            text.push_str(" <span class=\"rest\">not there</span>");
        }
        if !self.programs.is_empty() {
            let programs: Vec<String> =
                self.programs.iter().map(|program| escaped(program)).collect();
            let _ = write!(text, " <span class=\"by\">{}</span>", programs.join(", "));
        }
        text
    }

    /// The number of used paths below it.
    fn rest(&self) -> String {
        let paths = usage_counts::counted(self.count() as u64, "path");
        format!(" <span class=\"rest\">({paths})</span>")
    }

    fn count(&self) -> usize {
        let own = |place: &Self| usize::from(!place.programs.is_empty());
        self.below.values().map(|place| own(place) + place.count()).sum()
    }
}

/// Text escaped for HTML, both between tags and in quotes.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text() {
        let mut tree = Place::default();
        let name = b"<img src=x onerror=alert(1)>\"'&\x1b".to_vec();
        let place = tree.below.entry(name).or_default();
        place.programs.insert("<script>".to_owned());
        *place.times.entry(Capability::Read).or_default() += 2;
        let mut text = String::new();
        tree.write_all(&mut text, "", true);
        assert!(!text.contains("<img") && !text.contains("<script"), "{text}");
        assert!(text.contains(r"&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;\x1b"), "{text}");
        assert!(text.contains("read&nbsp;2×"), "{text}");
    }

    #[test]
    fn the_page_loads_nothing() {
        for part in [HEAD, BAR, STYLE, SCRIPT] {
            for load in ["http:", "https:", "src=", "url(", "@import", "innerHTML", "</script"] {
                assert!(!part.contains(load), "{load}");
            }
        }
    }

    #[test]
    fn directories_that_lead_to_one_thing_are_one_line() {
        let mut tree = Place::default();
        let mut place = &mut tree;
        for name in ["usr", "lib", "libc.so"] {
            place = place.below.entry(name.into()).or_default();
        }
        place.programs.insert("cat".to_owned());
        let mut text = String::new();
        tree.write_all(&mut text, "/", false);
        assert!(text.contains("<span>usr/lib/libc.so <span"), "{text}");
        assert_eq!(text.matches("<li").count(), 1);
    }
}
