//! Turns `seasons.txt` into a table that the program includes.

use std::fmt::Write as _;
use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=seasons.txt");
    let text = fs::read_to_string("seasons.txt").expect("seasons.txt");
    let mut table = String::from("const SEASONS: &[(&str, &str)] = &[\n");
    for line in text.lines() {
        let (fruit, season) = line.split_once(' ').expect("a fruit and a season");
        writeln!(table, "    ({fruit:?}, {season:?}),").expect("a string to write to");
    }
    table.push_str("];\n");
    let out = env::var_os("OUT_DIR").expect("cargo names the folder");
    fs::write(Path::new(&out).join("seasons.rs"), table).expect("a folder to write to");
}
