//! Takes over the views of the run around this one. The image of a run alone says where its names lead, and real paths
//! are what it judges.

use std::path::Path;

use jp_confine_engine::build::{Grant, View};
use jp_confine_engine::canonical;

use crate::host::outer_views::OuterViews;

/// The run's `own` views, and those that the run gets from the `outer` one. A name below the place of an own view leads
/// there, unless one of `grants`, which are about real paths, is about the file that the outer run sees by that name.
pub(crate) fn with_outer(outer: &OuterViews, own: &[View], grants: &[Grant]) -> Vec<View> {
    let mut views = own.to_vec();
    if outer.all().is_empty() {
        return views;
    }
    let mut add = |place: &Path, backing: &Path| {
        if views.iter().all(|view| view.place != place) {
            views.push(View { place: place.to_owned(), backing: backing.to_owned() });
        }
    };
    for view in outer.all() {
        for above in own {
            if let Some(rest) = canonical::strictly_below(&above.backing, &view.place) {
                add(&above.place.join(rest), &view.backing);
            }
        }
        if own.iter().all(|above| canonical::below(&above.place, &view.place).is_none()) {
            add(&view.place, &view.backing);
        }
    }
    // What is in a backing has a name there, and what nothing grants needs none.
    let has_name = |grant: &Grant| own.iter().any(|view| grant.anchor.starts_with(&view.backing));
    for grant in grants.iter().filter(|grant| !grant.caps.is_empty() && !has_name(grant)) {
        let name = outer.seen(&grant.anchor);
        let above =
            own.iter().filter(|view| canonical::strictly_below(&view.place, &name).is_some());
        let above = above.max_by_key(|view| view.place.as_os_str().len());
        let Some(above) = above.filter(|_| name != grant.anchor) else { continue };
        for on_way in name.ancestors().take_while(|on_way| *on_way != above.place) {
            add(on_way, &outer.real(on_way.to_owned()));
        }
    }
    views
}
