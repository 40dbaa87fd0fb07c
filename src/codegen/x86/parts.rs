//! How much work makes a part.

/// The work of one part, in elements of one word: what takes some times longer than handing it to a thread.
const LEAST: usize = 1 << 18;
/// Larger parts of large programs are read and written as longer runs, which caches and memory serve faster, and wait less often for what
/// was stored past the caches: a sum of 64 MiB takes 6 to 8 % less time. More than this gained nothing.
const MOST: usize = 1 << 20;
/// Parts become larger where there are more of them than this, which is enough for as many threads as memory can serve.
const ENOUGH: usize = 64;

/// The steps of a part, for so many elements that take so many steps each.
pub(super) fn part_work(elements: usize, steps: usize) -> usize {
    (elements.saturating_mul(steps) / ENOUGH).clamp(LEAST, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_grow_once_there_are_enough_of_them() {
        assert_eq!(part_work(0, 5), LEAST);
        assert_eq!(part_work(1 << 20, 4), LEAST);
        assert_eq!(part_work(1 << 24, 2), LEAST * 2);
        assert_eq!(part_work(1 << 30, 2), MOST);
        assert_eq!(part_work(usize::MAX, 30), MOST);
    }
}
