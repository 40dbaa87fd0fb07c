//! `ZITHER_DEBUG=1..4` prints every new plan: its kernels, their loops, their words, their machine code.

use super::explain::{Detail, text};
use super::prepared::Prepared;
use crate::schedule::Plan;
use std::sync::OnceLock;

/// What the environment asks for.
fn detail() -> Option<Detail> {
    static DETAIL: OnceLock<Option<Detail>> = OnceLock::new();
    *DETAIL.get_or_init(|| parse(std::env::var("ZITHER_DEBUG").ok().as_deref()))
}

fn parse(variable: Option<&str>) -> Option<Detail> {
    match variable?.trim() {
        "1" => Some(Detail::Kernels),
        "2" => Some(Detail::Loops),
        "3" => Some(Detail::Words),
        "4" => Some(Detail::Code),
        _ => None,
    }
}

/// Prints a new plan, if that is asked for.
pub(super) fn print(plan: &Plan, prepared: &Prepared) {
    if let Some(detail) = detail() {
        eprint!("{}", text(plan, prepared, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_but_a_level_prints_nothing() {
        assert_eq!(parse(Some(" 2 ")), Some(Detail::Loops));
        for variable in [None, Some(""), Some("0"), Some("5"), Some("yes")] {
            assert_eq!(parse(variable), None);
        }
    }
}
