//! Describes and makes changes of policy files: rules and patterns that are added to a list. A rule on the subject of
//! an existing one changes that instead. Comments and order stay.

use std::rc::Rc;

use indexmap::IndexMap;
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike};

use crate::config::document::{JSON, Notation};
use crate::config::edit::rule_text;
use crate::error::Failure;
use crate::error::source::Source;

/// The keys of a rule with their values, in order.
pub(crate) type Keys = IndexMap<String, Value>;

/// Something to add to one list or table of a policy file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Change {
    /// The file, as it was typed or found.
    pub(crate) file: String,
    /// The keys that lead to the list or table. Those that do not exist are created.
    pub(crate) list: Vec<String>,
    pub(crate) add: Vec<Addition>,
}

/// One item of a list, or one entry of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Addition {
    /// A rule, for a list of rules. It replaces one on the same subject.
    Rule(Keys),
    /// A rule with a name, for a table of rules. It replaces one of the same name.
    Entry(String, Keys),
    /// A pattern or name, for a list of texts.
    Text(String),
}

/// Items to take out of one list of a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Removal {
    /// The keys that lead to the list.
    pub(crate) list: Vec<String>,
    /// Their places in the list, counted from 0, in order.
    pub(crate) items: Vec<usize>,
}

/// The steps from a rule to another one on the same subject. Of two such rules in one list the last would decide.
struct Revision<'k> {
    gone: Vec<String>,
    set: Vec<(&'k String, &'k Value)>,
}

impl<'k> Revision<'k> {
    /// `None` if the rules differ in more than flags.
    fn of(known: &Keys, new: &'k Keys) -> Option<Self> {
        let subject = |keys: &Keys| -> Keys {
            let others = keys.iter().filter(|(_, value)| !value.is_boolean());
            others.map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        let is_gone = |key: &&String| !new.contains_key(*key);
        (subject(known) == subject(new)).then(|| Self {
            gone: known.keys().filter(is_gone).cloned().collect(),
            set: new.iter().filter(|(key, value)| known.get(*key) != Some(*value)).collect(),
        })
    }

    fn of_table(known: &dyn TableLike, new: &'k Keys) -> Option<Self> {
        let value = |item: &Item| {
            let flag = item.as_bool().map(Value::from);
            let text = item.as_str().map(Value::from);
            flag.or(text).or(item.as_integer().map(Value::from)).unwrap_or_default()
        };
        let known = known.iter().map(|(key, item)| (key.to_owned(), value(item)));
        Self::of(&known.collect(), new)
    }

    fn make_in_table(&self, rule: &mut dyn TableLike) {
        for key in &self.gone {
            rule.remove(key);
        }
        for (key, value) in &self.set {
            rule.insert(key, Item::Value(as_toml(value)));
        }
    }

    fn make_in_object(&self, rule: &CstObject) {
        for key in &self.gone {
            rule.get(key).into_iter().for_each(CstObjectProp::remove);
        }
        for (key, value) in &self.set {
            match rule.get(key) {
                Some(known) => known.set_value(as_json(value)),
                None => drop(rule.append(key, as_json(value))),
            }
        }
    }
}

/// Merges the changes of the same list, without repetition.
pub(crate) fn together(changes: impl IntoIterator<Item = Change>) -> Vec<Change> {
    let mut all: Vec<Change> = Vec::new();
    for change in changes {
        let is_same = |known: &&mut Change| known.file == change.file && known.list == change.list;
        match all.iter_mut().find(is_same) {
            Some(known) => {
                let new = change.add.into_iter().filter(|one| !known.add.contains(one));
                let new: Vec<Addition> = new.collect();
                known.add.extend(new);
            }
            None => all.push(change),
        }
    }
    all
}

/// The text of `source` with these changes, all of which are meant for it.
///
/// # Errors
/// The text cannot be read, or has another kind of value where a list belongs.
pub(crate) fn changed<'c>(
    source: &Rc<Source>,
    notation: Notation,
    changes: impl IntoIterator<Item = &'c Change>,
) -> Result<String, Failure> {
    let taken = |change: &Change| {
        let list = change.list.join(".");
        Failure::own(format!("{}: `{list}` takes no more rules", source.name))
    };
    let unreadable = || Failure::own(format!("{} cannot be read any more", source.name));
    if notation == Notation::Json {
        let root = CstRootNode::parse(&source.text, &JSON).map_err(|_| unreadable())?;
        for change in changes {
            add_to_json(&root, change).ok_or_else(|| taken(change))?;
        }
        return Ok(root.to_string());
    }
    let mut document: DocumentMut = source.text.parse().map_err(|_| unreadable())?;
    for change in changes {
        add_to_toml(&mut document, change).ok_or_else(|| taken(change))?;
    }
    let text = document.to_string();
    // The first table of a file has no empty line before it.
    Ok(if source.text.is_empty() { text.trim_start().to_owned() } else { text })
}

/// The text of `source` without these items. Comments of other items stay.
///
/// # Errors
/// The text cannot be read, or has no such items.
pub(crate) fn without(
    source: &Rc<Source>,
    notation: Notation,
    removals: &[Removal],
) -> Result<String, Failure> {
    let unreadable = || Failure::own(format!("{} cannot be read any more", source.name));
    if notation == Notation::Json {
        let root = CstRootNode::parse(&source.text, &JSON).map_err(|_| unreadable())?;
        for removal in removals {
            remove_from_json(&root, removal).ok_or_else(unreadable)?;
        }
        return Ok(root.to_string());
    }
    let mut document: DocumentMut = source.text.parse().map_err(|_| unreadable())?;
    for removal in removals {
        remove_from_toml(&mut document, removal).ok_or_else(unreadable)?;
    }
    Ok(document.to_string())
}

/// The text of the table under these keys, if a TOML text has one.
pub(crate) fn table_text(text: &str, keys: &[&str]) -> Option<String> {
    let document: DocumentMut = text.parse().ok()?;
    let found = keys.iter().try_fold(document.as_item(), |item, key| item.get(key))?;
    let body = found.as_table_like()?.iter().map(|(key, value)| format!("{key} = {value}\n"));
    Some(format!("[{}]\n", keys.join(".")) + &body.collect::<String>())
}

fn add_to_toml(document: &mut DocumentMut, change: &Change) -> Option<()> {
    let (key, tables) = change.list.split_last()?;
    let mut parent: &mut Item = document.as_item_mut();
    for table in tables {
        let new = new_table(parent.is_inline_table());
        parent = parent.as_table_like_mut()?.entry(table).or_insert(new);
    }
    let is_inline = parent.is_inline_table();
    let parent = parent.as_table_like_mut()?;
    for addition in &change.add {
        match addition {
            Addition::Text(text) => {
                let list = parent.entry(key).or_insert(Array::new().into());
                push(list.as_array_mut()?, as_toml(&Value::String(text.clone())));
            }
            Addition::Rule(keys) => {
                let new = if is_inline { Array::new().into() } else { ArrayOfTables::new().into() };
                let rules = parent.entry(key).or_insert(new);
                if revise_in_toml(rules, keys).is_none() {
                    match rules {
                        Item::ArrayOfTables(rules) => rules.push(as_table(keys)),
                        rules => push(rules.as_array_mut()?, as_inline(keys).into()),
                    }
                }
            }
            Addition::Entry(name, keys) => {
                let rules = parent.entry(key).or_insert(new_table(is_inline));
                let is_inline = rules.is_inline_table();
                let rules = rules.as_table_like_mut()?;
                let is_inline = is_inline || rules.get(name).is_some_and(Item::is_inline_table);
                let new = if is_inline { as_inline(keys).into() } else { as_table(keys).into() };
                *rules.entry(name).or_insert(Item::None) = new;
            }
        }
    }
    Some(())
}

/// Changes the last rule on the same subject, if there is one.
fn revise_in_toml(rules: &mut Item, keys: &Keys) -> Option<()> {
    let all: Vec<&mut dyn TableLike> = match rules {
        Item::ArrayOfTables(rules) => rules.iter_mut().map(|it| it as &mut dyn TableLike).collect(),
        rules => {
            let rules = rules.as_array_mut()?.iter_mut();
            let rules = rules.filter_map(toml_edit::Value::as_inline_table_mut);
            rules.map(|it| it as &mut dyn TableLike).collect()
        }
    };
    all.into_iter().rev().find_map(|rule| {
        Revision::of_table(rule, keys).map(|revision| revision.make_in_table(rule))
    })
}

/// Like [`revise_in_toml`]. A rule with comments in it stays as it is.
fn revise_in_json(rules: &CstArray, keys: &Keys) -> Option<()> {
    let rules = rules.elements().into_iter().filter_map(|rule| rule.as_object());
    rules.rev().find_map(|rule| {
        let known = serde_json::from_str(&rule.to_string()).ok()?;
        Revision::of(&known, keys).map(|revision| revision.make_in_object(&rule))
    })
}

fn remove_from_toml(document: &mut DocumentMut, removal: &Removal) -> Option<()> {
    let mut list = document.as_item_mut();
    for key in &removal.list {
        list = list.as_table_like_mut()?.get_mut(key)?;
    }
    for &item in removal.items.iter().rev() {
        match &mut *list {
            Item::ArrayOfTables(rules) if item < rules.len() => drop(rules.remove(item)),
            rules => drop(rules.as_array_mut().filter(|list| item < list.len())?.remove(item)),
        }
    }
    Some(())
}

/// A new table. In a file's own lines it is only written if it gets values of its own.
fn new_table(is_inline: bool) -> Item {
    if is_inline {
        return InlineTable::new().into();
    }
    let mut table = Table::new();
    table.set_implicit(true);
    table.into()
}

/// Adds an item at the end: on a line of its own if the others have their own, too.
fn push(list: &mut Array, item: toml_edit::Value) {
    let decor = list.iter().last().map(|last| last.decor().clone());
    let before = decor.and_then(|decor| Some(decor.prefix()?.as_str()?.to_owned()));
    let indent = before.filter(|before| before.contains('\n'));
    let is_first = list.is_empty();
    list.push(item);
    if let Some(item) = list.iter_mut().last() {
        let plain = if is_first { "" } else { " " };
        // A comment before the last item is about that one.
        let indent = indent.as_deref().map(|before| &before[before.rfind('\n').unwrap_or(0)..]);
        item.decor_mut().set_prefix(indent.unwrap_or(plain));
    }
}

fn as_table(keys: &Keys) -> Table {
    let mut table = Table::new();
    for (key, value) in keys {
        table.insert(key, Item::Value(as_toml(value)));
    }
    table.decor_mut().set_prefix("\n");
    table
}

fn as_inline(keys: &Keys) -> InlineTable {
    keys.iter().map(|(key, value)| (key, as_toml(value))).collect()
}

fn as_toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => number.as_i64().unwrap_or_default().into(),
        Value::Array(items) => items.iter().map(as_toml).collect::<Array>().into(),
        // With all invisible characters escaped.
        Value::String(text) => {
            rule_text::string(text).parse().unwrap_or_else(|_| text.as_str().into())
        }
        other => other.to_string().into(),
    }
}

fn add_to_json(root: &CstRootNode, change: &Change) -> Option<()> {
    let (key, tables) = change.list.split_last()?;
    let parent: CstObject =
        tables.iter().try_fold(root.object_value_or_create()?, |object, key| {
            object.object_value_or_create(key)
        })?;
    for addition in &change.add {
        match addition {
            Addition::Text(text) => {
                parent.array_value_or_create(key)?.append(text.as_str().into());
            }
            Addition::Rule(keys) => {
                let rules = parent.array_value_or_create(key)?;
                if revise_in_json(&rules, keys).is_none() {
                    rules.append(as_object(keys));
                }
            }
            Addition::Entry(name, keys) => {
                let rules = parent.object_value_or_create(key)?;
                match rules.get(name) {
                    Some(known) => known.set_value(as_object(keys)),
                    None => drop(rules.append(name, as_object(keys))),
                }
            }
        }
    }
    Some(())
}

fn remove_from_json(root: &CstRootNode, removal: &Removal) -> Option<()> {
    let (key, tables) = removal.list.split_last()?;
    let parent =
        tables.iter().try_fold(root.object_value()?, |object, key| object.object_value(key))?;
    let rules = parent.array_value(key)?.elements();
    for &item in &removal.items {
        rules.get(item)?.clone().remove();
    }
    Some(())
}

fn as_object(keys: &Keys) -> CstInputValue {
    let keys = keys.iter().map(|(key, value)| (key.clone(), as_json(value)));
    CstInputValue::Object(keys.collect())
}

fn as_json(value: &Value) -> CstInputValue {
    match value {
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(as_json).collect()),
        Value::String(text) => CstInputValue::String(text.clone()),
        other => CstInputValue::String(other.to_string()),
    }
}
