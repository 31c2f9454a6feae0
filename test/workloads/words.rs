// Works for ever with strings, maps and closures of Rust's library.
use std::collections::{BTreeMap, HashMap};

fn words_of(round: u32) -> Vec<String> {
    let text: String = (0..20).map(|i| format!("word{} {} ", (i * 7919 + round) % 101, i as f64 * 0.5)).collect();
    let mut words: Vec<String> = text.split_whitespace().map(str::to_string).collect();
    words.sort_by(|a, b| b.cmp(a));
    words
}

fn number_of(word: &str) -> Result<u32, std::num::ParseIntError> {
    word.trim_start_matches(char::is_alphabetic).parse()
}

fn main() {
    let mut counts: HashMap<u32, u64> = HashMap::new();
    let mut failed: BTreeMap<String, u64> = BTreeMap::new();
    for round in 0u32.. {
        for word in words_of(round % 100_000) {
            match number_of(&word) {
                Ok(number) => *counts.entry(number).or_default() += 1,
                Err(error) => *failed.entry(error.to_string()).or_default() += 1,
            }
        }
    }
}
