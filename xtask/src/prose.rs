//! The language of comments and documents: words that hide the doer or the noun stay rare, sentences stay short, and
//! lines of Markdown stay within 120 columns.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    cargo,
    failure::{Failure, Result},
};

/// Words whose number of uses in the whole tree is limited, because each has a plainer one in most places.
const RARE_WORDS: [RareWord; 8] = [
    RareWord { text: "behind", max_uses: 40, instead: "`after`, `later than`" },
    RareWord { text: "beside", max_uses: 20, instead: "`next to`, `with`, `in addition to`, `compared with`" },
    RareWord { text: "so many", max_uses: 10, instead: "a number's name and its noun" },
    RareWord { text: "so much", max_uses: 10, instead: "a number's name and its noun" },
    RareWord { text: "so long", max_uses: 20, instead: "`this long`, or the time's name" },
    RareWord { text: "whoever", max_uses: 10, instead: "`a receiver that`, `you`" },
    RareWord { text: "is told", max_uses: 10, instead: "who tells whom" },
    RareWord { text: "is said", max_uses: 10, instead: "who says it" },
];
/// Sentences of the whole tree that may begin with "Of".
const MAX_BEGINNING_WITH_OF: usize = 20;
/// The most words of the median sentence of `docs/`.
const MAX_MEDIAN_WORDS: usize = 15;
/// The most bytes of the README: it is for somebody who has a minute.
const MAX_README_BYTES: usize = 5000;
/// The most columns of a line of Markdown; tables and lines without a space to break at are longer.
const MAX_COLUMNS: usize = 120;
/// Folders that have no text of ours.
const SKIPPED_FOLDERS: [&str; 4] = ["target", "corpus", "testdata", "node_modules"];

/// A word or two that are limited.
struct RareWord {
    text: &'static str,
    max_uses: usize,
    instead: &'static str,
}

/// A file with its text.
struct File {
    name: String,
    text: String,
}

/// Fails with every limit that the tree exceeds and where, and with every line of Markdown that is too long.
pub(crate) fn check() -> Result<()> {
    let root = cargo::root();
    let mut files = Vec::new();
    read_below(root, root, &mut files)?;
    let mut faults: Vec<String> = RARE_WORDS.iter().filter_map(|word| too_often(word, &files)).collect();
    faults.extend(begins_with_of(&files));
    faults.extend(files.iter().filter(|file| is_written(&file.name)).flat_map(long_lines));
    faults.extend(files.iter().filter_map(long_readme));
    let docs = files.iter().filter(|file| file.name.starts_with("docs/")).flat_map(|file| sentence_words(&file.text));
    let median = median(docs.collect());
    if median > MAX_MEDIAN_WORDS {
        faults
            .push(format!("the median sentence of docs/ has {median} words, over {MAX_MEDIAN_WORDS}: split sentences"));
    }
    if faults.is_empty() {
        println!("{} files read; the median sentence of docs/ has {median} words", files.len());
        return Ok(());
    }
    Err(Failure::say(faults.join("\n")))
}

/// Adds the Rust and Markdown files of a folder and the folders in it.
fn read_below(root: &Path, folder: &Path, files: &mut Vec<File>) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(Failure::at(folder))?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()
        .map_err(Failure::at(folder))?;
    paths.sort();
    for path in paths {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if path.is_symlink() || name.starts_with('.') || SKIPPED_FOLDERS.contains(&name) {
            continue;
        }
        if path.is_dir() {
            read_below(root, &path, files)?;
        } else if matches!(path.extension().and_then(OsStr::to_str), Some("rs" | "md")) {
            let text = fs::read_to_string(&path).map_err(Failure::at(&path))?;
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            files.push(File { name, text });
        }
    }
    Ok(())
}

/// Returns whether this is Markdown that people write: the benchmarks write their results.
fn is_written(name: &str) -> bool {
    name.ends_with(".md") && !name.starts_with("benches/results/")
}

/// Returns what to change if a word has too many uses. This file names the words, so it does not count.
fn too_often(word: &RareWord, files: &[File]) -> Option<String> {
    let counted = files.iter().filter(|file| file.name != "xtask/src/prose.rs");
    let places: Vec<String> = counted.flat_map(|file| uses(word.text, file)).collect();
    (places.len() > word.max_uses).then(|| {
        let RareWord { text, max_uses, instead } = word;
        format!("`{text}` has {} uses, over {max_uses}: write {instead}\n  {}", places.len(), places.join("\n  "))
    })
}

/// Returns where a file uses a word, once for each use.
fn uses(word: &str, file: &File) -> Vec<String> {
    let mut places = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        let line = line.to_lowercase();
        let inside = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let whole = |start: &usize| {
            !inside(line[..*start].chars().next_back()) && !inside(line[start + word.len()..].chars().next())
        };
        let found = line.match_indices(word).map(|(start, _)| start).filter(whole).count();
        places.extend(std::iter::repeat_n(format!("{}:{}", file.name, at + 1), found));
    }
    places
}

/// Returns what to change if too many sentences begin with "Of".
fn begins_with_of(files: &[File]) -> Option<String> {
    let begins = |line: &str| {
        let text = line.trim_start().trim_start_matches(['/', '!', '-', '*', '#', '>', '|']).trim_start();
        usize::from(text.starts_with("Of ")) + line.matches(". Of ").count()
    };
    let counted = files.iter().filter(|file| file.name != "xtask/src/prose.rs");
    let places: Vec<String> = counted
        .flat_map(|file| {
            let lines = file.text.lines().enumerate().filter(|(_, line)| begins(line) > 0);
            lines.map(|(at, _)| format!("{}:{}", file.name, at + 1)).collect::<Vec<_>>()
        })
        .collect();
    (places.len() > MAX_BEGINNING_WITH_OF).then(|| {
        let count = places.len();
        format!(
            "{count} sentences begin with `Of`, over {MAX_BEGINNING_WITH_OF}: write `for`, `in`\n  {}",
            places.join("\n  ")
        )
    })
}

/// Returns what to change if this is the README and has too many bytes.
fn long_readme(file: &File) -> Option<String> {
    let bytes = file.text.len();
    (file.name == "README.md" && bytes > MAX_README_BYTES)
        .then(|| format!("README.md has {bytes} bytes, over {MAX_README_BYTES}: move what few need into docs/"))
}

/// Returns the lines of Markdown that are too long: those outside code and tables which have a space to break at.
fn long_lines(file: &File) -> Vec<String> {
    let mut in_code = false;
    let mut found = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        in_code ^= line.trim_start().starts_with("```");
        let can_break = line.trim_start_matches(['-', '*', ' ', '>', '#']).contains(' ') && !line.contains("](");
        let exempt = in_code || line.trim_start().starts_with(['|', '<', '[', '!']) || line.starts_with("    ");
        let columns = line.chars().count();
        if columns > MAX_COLUMNS && can_break && !exempt {
            found.push(format!("{}:{}: {columns} columns, over {MAX_COLUMNS}", file.name, at + 1));
        }
    }
    found
}

/// Returns the number of words of each sentence of Markdown, outside code, tables and headings.
fn sentence_words(text: &str) -> Vec<usize> {
    let mut in_code = false;
    let mut words = Vec::new();
    let mut sentence = 0;
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        let is_text = !in_code && !line.trim_start().starts_with(['#', '|', '`', '<']) && !line.trim().is_empty();
        if !is_text || line.trim_start().starts_with(['-', '*']) {
            words.push(std::mem::take(&mut sentence));
        }
        if is_text {
            for word in line.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)) {
                sentence += 1;
                if word.trim_end_matches(['*', ')', '"', '_']).ends_with(['.', '!', '?', ':']) {
                    words.push(std::mem::take(&mut sentence));
                }
            }
        }
    }
    words.push(sentence);
    words.retain(|count| *count > 2);
    words
}

fn median(mut counts: Vec<usize>) -> usize {
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> File {
        File { name: name.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn words_count_alone_in_any_case_and_with_their_place() {
        let text = file("a.rs", "Behind it\nfallbehind behind_all, left behind. behind\n");
        assert_eq!(uses("behind", &text), ["a.rs:1", "a.rs:2", "a.rs:2"]);
        let word = RareWord { text: "behind", max_uses: 2, instead: "after" };
        let fault = too_often(&word, &[text]).expect("three uses");
        assert!(fault.starts_with("`behind` has 3 uses, over 2: write after") && fault.contains("a.rs:2"), "{fault}");
    }

    #[test]
    fn sentences_that_begin_with_of_are_found_in_comments_and_text() {
        let many = "/// Of all frames.\nText. Of them.\n- Of course\nOffset of it\n".repeat(7);
        let fault = begins_with_of(&[file("a.md", &many)]).expect("21 of them");
        assert!(fault.starts_with("21 sentences"), "{fault}");
        assert!(begins_with_of(&[file("a.md", "Of it\n")]).is_none());
    }

    #[test]
    fn long_lines_are_found_outside_tables_code_and_links() {
        let long = "word ".repeat(30);
        let text = format!("{long}\n| {long}|\n```\n{long}\n```\n[{long}](x)\n");
        assert_eq!(long_lines(&file("a.md", &text)), ["a.md:1: 150 columns, over 120"]);
    }

    #[test]
    fn only_the_readme_of_the_whole_project_is_limited() {
        let text = "word ".repeat(1001);
        assert!(long_readme(&file("README.md", &text)).expect("5005 bytes").contains("5005 bytes, over 5000"));
        assert!(
            long_readme(&file("codec/README.md", &text)).is_none() && long_readme(&file("README.md", "a")).is_none()
        );
    }

    #[test]
    fn sentences_are_counted_by_their_words() {
        let text =
            "# A heading of many words\n\nOne two three. Four five\nsix seven.\n\n- eight nine ten\n| a b c d |\n";
        assert_eq!(sentence_words(text), [3, 4, 3]);
        assert_eq!(median(vec![9, 3, 4]), 4);
    }
}
