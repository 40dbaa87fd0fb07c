//! What the documents show is what the library does.

use std::fs;
use std::path::Path;
use zither::{Dim1, Dim2, Tensor};

const ARCHITECTURE: &str = include_str!("../ARCHITECTURE.md");
const README: &str = include_str!("../README.md");

/// The text without the source lines, which are another file's here.
fn without_places(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.split("  // ").next().unwrap_or(line))).collect()
}

#[test]
fn the_listings_of_the_architecture_are_what_is_printed() -> zither::Result<()> {
    let x = Tensor::<f32, Dim2>::input("x", [2, 3]);
    let w = Tensor::<f32, Dim1>::input("w", [3]);
    let y = (&x * &w + 1.0).sqrt().sum_axis(1);
    for listing in [without_places(&y.graph()), without_places(&y.lowered()?)] {
        assert!(ARCHITECTURE.contains(&listing), "ARCHITECTURE.md does not have\n{listing}");
    }
    Ok(())
}

#[test]
fn the_record_in_the_architecture_is_the_real_one() {
    let record = include_str!("../src/ops/sqrt.rs");
    let shown: String = ARCHITECTURE.lines().map(|line| format!("{}\n", line.trim_start_matches("   "))).collect();
    let unindented: String = record.lines().map(|line| format!("{}\n", line.trim_start_matches("   "))).collect();
    assert!(shown.contains(&unindented), "ARCHITECTURE.md does not have\n{record}");
}

#[test]
fn a_softmax_has_as_many_kernels_as_the_architecture_says() -> zither::Result<()> {
    let x = Tensor::<f32, Dim2>::input("x", [2, 3]);
    let text = x.softmax(1).lowered()?;
    assert_eq!((text.matches("kernel ").count(), text.matches("  then, stage ").count()), (1, 4));
    assert!(ARCHITECTURE.contains("a softmax is one kernel of five stages"));
    Ok(())
}

#[test]
fn the_error_in_the_readme_is_what_is_said() {
    let (a, b) = (Tensor::<f32, _>::zeros([2, 3]), Tensor::<f32, _>::zeros([4]));
    let text = a.try_add(&b).unwrap_err().to_string();
    let message = text.lines().next().unwrap_or_default();
    assert!(README.contains(message), "README.md does not have\n{message}");
}

#[test]
fn unsafe_code_is_only_where_the_architecture_says() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let room = path.strip_prefix(&source).unwrap().iter().next().unwrap().to_str().unwrap();
            let text = fs::read_to_string(&path).unwrap();
            let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
            let has_unsafe = code
                .into_iter()
                .any(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe"));
            let allowed = ["codegen", "contract", "memory", "runtime", "strided"].contains(&room);
            assert!(allowed || !has_unsafe, "{} has unsafe code", path.display());
        }
    }
}

/// The name of the public op that a line of source begins to define, if it does.
fn defined(line: &str) -> Option<&str> {
    let line = line.trim_start();
    // In the tables of twins a method is written without `pub`, and followed by the name of its twin.
    let (public, rest) = match line.strip_prefix("pub fn ") {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix("fn ")?),
    };
    let name = rest.split(|c: char| !c.is_alphanumeric() && !"_$".contains(c)).next()?;
    let has_twin = rest[name.len()..].trim_start().starts_with(['t', '$']);
    ((public || has_twin) && !name.trim_start_matches('$').starts_with("try_")).then_some(name)
}

#[test]
fn every_op_has_an_example_that_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tensor");
    let (mut count, mut missing) = (0, Vec::new());
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if path.ends_with("twins.rs") {
            continue; // how twins are made, and none of them
        }
        let (mut about, mut open) = (String::new(), false);
        for line in text.lines() {
            let start = line.trim_start();
            match defined(line) {
                Some(name) => {
                    count += 1;
                    // A dynamic tensor's op may point to the typed one.
                    let shown = ["```", "example!(", "applied!(", "shaped!(", "as_typed!(", "Tensor::"];
                    if !shown.iter().any(|sign| about.contains(sign)) {
                        missing.push(format!("{name} in {}", path.file_name().unwrap().display()));
                    }
                }
                None if open || start.starts_with("///") || start.starts_with("#[") => {
                    open = (open || start.starts_with("#[")) && !start.ends_with(']');
                    about.push_str(start);
                    about.push('\n');
                    continue;
                }
                None => {}
            }
            about.clear();
        }
    }
    assert!(count > 300, "only {count} ops were found");
    assert!(missing.is_empty(), "{} ops without an example:\n{}", missing.len(), missing.join("\n"));
}
