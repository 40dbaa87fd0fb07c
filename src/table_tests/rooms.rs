//! The house keeps its order: a room names only rooms it may, files stay short and say what they are for.

use std::fs;
use std::path::{Path, PathBuf};

/// What each room may name besides itself.
static DOORS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("dtype", &["error"]),
    ("shape", &["error", "dtype"]),
    ("memory", &["error", "dtype"]),
    ("graph", &["error", "dtype", "shape", "memory", "ops"]),
    ("ops", &["error", "dtype", "shape", "memory", "graph"]),
    ("grad", &["error", "dtype", "shape", "memory", "ops", "graph"]),
    ("schedule", &["error", "dtype", "shape", "graph", "ops", "contract"]),
    ("lower", &["error", "dtype", "shape", "graph", "ops", "schedule"]),
    ("codegen", &["dtype", "shape", "ops", "lower"]),
    ("contract", &["dtype"]),
    (
        "runtime",
        &["error", "dtype", "shape", "memory", "ops", "graph", "schedule", "lower", "codegen", "contract", "reference"],
    ),
    ("strided", &["error", "dtype", "runtime"]),
    ("reference", &["error", "dtype", "shape", "memory", "graph", "ops"]),
    ("linalg", &["error", "dtype", "shape", "memory", "ops", "graph", "runtime"]),
    ("tensor", ANY),
    ("operators", &[]),
    ("optim", &["error", "dtype", "graph", "ops", "tensor"]),
    ("random_programs", ANY),
    ("table_tests", ANY),
];

/// A room that may name every other.
const ANY: &[&str] = &["*"];

/// What the front door shows of each room: `crate::Error` is a door to `error`.
static SHOWN: &[(&str, &[&str])] = &[
    ("dtype", &["DType", "Literal", "bf16", "f16"]),
    ("error", &["Error", "ErrorKind", "Result"]),
    ("shape", &["Expr", "Layout", "View"]),
];

/// One name of another room.
#[derive(Debug, PartialEq, Eq)]
struct Door {
    line: usize,
    to: String,
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every Rust file below a folder, with its path from there.
fn files(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
                found.push((name, fs::read_to_string(&path).expect("text")));
            }
        }
    }
    found.sort();
    found
}

/// The room a file belongs to.
fn room(file: &str) -> &str {
    file.split('/').next().unwrap_or(file).trim_end_matches(".rs")
}

/// Files that only tests are built from may look anywhere.
fn is_test(file: &str) -> bool {
    let parts = file.trim_end_matches(".rs").split('/');
    parts.into_iter().any(|part| ["tests", "facts", "model"].contains(&part) || part.ends_with("_tests"))
}

/// The text without comments, and without the test module at its end; lines keep their numbers.
fn code(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let tests = lines.windows(2).position(|pair| {
        pair[0].trim() == "#[cfg(test)]"
            && pair[1].trim_start().starts_with("mod ")
            && pair[1].trim_end().ends_with('{')
    });
    lines.truncate(tests.unwrap_or(lines.len()));
    lines.join("\n")
}

/// Every room named by `crate::room`, or by `crate::{room, …}`.
fn doors(text: &str) -> Vec<Door> {
    let code = code(text);
    let mut found = Vec::new();
    for (place, _) in code.match_indices("crate::") {
        let line = code[..place].matches('\n').count() + 1;
        let after = &code[place + "crate::".len()..];
        let names = match after.strip_prefix('{') {
            Some(group) => top_level(group),
            None => vec![identifier(after)],
        };
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            let shown = SHOWN.iter().find(|(_, names)| names.contains(&name));
            found.push(Door { line, to: shown.map_or(name, |(room, _)| room).to_owned() });
        }
    }
    found
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// The first names of the entries of a `{…}` group, up to its end.
fn top_level(group: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0, 0);
    let mut names = Vec::new();
    for (place, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(identifier(group[start..place].trim_start()));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(identifier(group[start..place].trim_start()));
                start = place + 1;
            }
            _ => {}
        }
    }
    names
}

#[test]
fn no_room_names_a_room_it_may_not() {
    let mut wrong = Vec::new();
    for (file, text) in files(&source()).iter().filter(|(file, _)| file != "lib.rs" && !is_test(file)) {
        let room = room(file);
        let Some((_, allowed)) = DOORS.iter().find(|(name, _)| *name == room) else {
            wrong.push(format!("src/{file}: the room `{room}` has no row in DOORS"));
            continue;
        };
        for door in doors(text) {
            if *allowed != ANY && door.to != room && !allowed.contains(&door.to.as_str()) {
                wrong.push(format!("src/{file}:{}: `{room}` must not name `crate::{}`", door.line, door.to));
            }
        }
    }
    assert!(wrong.is_empty(), "wrong doors:\n{}", wrong.join("\n"));
}

#[test]
fn files_are_short_and_say_what_they_are_for() {
    let mut wrong = Vec::new();
    for (file, text) in files(&source()) {
        let lines = text.lines().count();
        if lines > 800 {
            wrong.push(format!("src/{file}: {lines} lines, 800 are the most: split it"));
        }
        if !text.starts_with("//!") {
            wrong.push(format!("src/{file}: does not open with //! and what it is for"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn doors_are_found_wherever_they_are_written() {
    let text = "use crate::graph::{Node, Op};\nuse crate::{dtype::{self, X}, lower, Error};\n// crate::tensor\n\
                fn f() { crate::memory::g(); }\npub(crate) fn x() {}\n#[cfg(test)]\nmod tests {\n use crate::tensor;\n}";
    let found: Vec<(usize, String)> = doors(text).into_iter().map(|door| (door.line, door.to)).collect();
    let expected = [(1, "graph"), (2, "dtype"), (2, "lower"), (2, "error"), (4, "memory")];
    assert_eq!(found, expected.map(|(line, to)| (line, to.to_owned())));
    assert_eq!((room("ops/exp.rs"), room("reference.rs")), ("ops", "reference"));
}
