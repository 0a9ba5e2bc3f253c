//! Prints what was picked, and in which season.

use serde::Deserialize;

include!(concat!(env!("OUT_DIR"), "/seasons.rs"));

#[derive(Debug, Deserialize)]
struct Entry {
    fruit: String,
    crates: u32,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("harvest.json: {0}")]
    Read(#[from] std::io::Error),
    #[error("harvest.json: {0}")]
    Parse(#[from] serde_json::Error),
}

fn season(fruit: &str) -> Option<&'static str> {
    SEASONS.iter().find(|(name, _)| *name == fruit).map(|(_, season)| *season)
}

fn main() -> Result<(), Error> {
    let entries: Vec<Entry> = serde_json::from_str(&std::fs::read_to_string("harvest.json")?)?;
    for Entry { fruit, crates } in entries {
        println!("{crates:3} crates of {fruit} ({})", season(&fruit).unwrap_or("any season"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::season;

    #[test]
    fn seasons_come_from_the_build_script() {
        assert_eq!(season("cherry"), Some("summer"));
        assert_eq!(season("stone"), None);
    }
}
