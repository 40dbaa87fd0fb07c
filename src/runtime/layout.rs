//! The memory plan: where in one arena the numbers that a run does not keep are, and when.
//!
//! A value lives from the kernel that makes it to the last that reads it. Values that live at different times share memory; a value
//! that is made element by element from one that dies there takes its place.

use crate::memory::ALIGN;

/// A value's wish for memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) bytes: usize,
    /// The kernels between which it lives, both included.
    pub(super) from: usize,
    pub(super) to: usize,
    /// The wish, made before, whose place this one may take: it dies where this one is made.
    pub(super) instead: Option<usize>,
}

/// Where each wish goes, and the bytes of the whole arena.
pub(super) fn arrange(wishes: &[Wish]) -> (Vec<usize>, usize) {
    // Those that take another's place make one block with it, alive as long as both.
    let mut block_of: Vec<usize> = Vec::with_capacity(wishes.len());
    let mut blocks: Vec<Wish> = Vec::new();
    for wish in wishes {
        match wish.instead.map(|other| block_of[other]) {
            Some(block) if wish.bytes <= blocks[block].bytes => {
                blocks[block].to = blocks[block].to.max(wish.to);
                block_of.push(block);
            }
            _ => {
                block_of.push(blocks.len());
                blocks.push(Wish { bytes: wish.bytes.next_multiple_of(ALIGN), ..*wish });
            }
        }
    }
    // The large ones first: small ones find room between them.
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|&block| (std::cmp::Reverse(blocks[block].bytes), block));
    let mut offsets = vec![0; blocks.len()];
    let mut placed: Vec<usize> = Vec::new();
    let mut end = 0;
    for block in order {
        let wish = blocks[block];
        let mut taken: Vec<(usize, usize)> = placed
            .iter()
            .filter(|&&other| blocks[other].from <= wish.to && wish.from <= blocks[other].to)
            .map(|&other| (offsets[other], offsets[other] + blocks[other].bytes))
            .collect();
        taken.sort_unstable();
        let mut start = 0;
        for (first, last) in taken {
            if start + wish.bytes <= first {
                break;
            }
            start = start.max(last);
        }
        offsets[block] = start;
        end = end.max(start + wish.bytes);
        placed.push(block);
    }
    (block_of.into_iter().map(|block| offsets[block]).collect(), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(bytes: usize, from: usize, to: usize) -> Wish {
        Wish { bytes, from, to, instead: None }
    }

    #[test]
    fn values_that_live_at_different_times_share_memory() {
        // A chain: each is read by the next kernel only, so two places are enough.
        let chain: Vec<Wish> = (0..10).map(|k| wish(640, k, k + 1)).collect();
        let (offsets, bytes) = arrange(&chain);
        assert_eq!(bytes, 1280);
        assert!(offsets.windows(2).all(|pair| pair[0] != pair[1]));
        // In place, one is.
        let chain: Vec<Wish> =
            (0..10).map(|k: usize| Wish { instead: k.checked_sub(1), ..wish(640, k, k + 1) }).collect();
        assert_eq!(arrange(&chain), (vec![0; 10], 640));
    }

    #[test]
    fn values_that_live_at_the_same_time_never_overlap() {
        let mut state = 7u64;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % limit
        };
        for _ in 0..200 {
            let wishes: Vec<Wish> = (0..1 + below(20))
                .map(|_| {
                    let from = below(10);
                    wish(below(1000), from, from + below(5))
                })
                .collect();
            let (offsets, bytes) = arrange(&wishes);
            for (i, a) in wishes.iter().enumerate() {
                assert!(offsets[i] % ALIGN == 0 && offsets[i] + a.bytes <= bytes);
                for (j, b) in wishes.iter().enumerate().skip(i + 1) {
                    let meet = a.from <= b.to && b.from <= a.to;
                    let apart = offsets[i] + a.bytes <= offsets[j] || offsets[j] + b.bytes <= offsets[i];
                    assert!(!meet || apart, "{wishes:?} {offsets:?}");
                }
            }
            let alive = |k: usize| {
                wishes.iter().filter(|w| w.from <= k && k <= w.to).map(|w| w.bytes.next_multiple_of(ALIGN)).sum()
            };
            let least: usize = (0..16).map(alive).max().unwrap_or(0);
            assert!(bytes >= least && bytes <= 2 * least.max(ALIGN), "{bytes} {least}");
        }
    }
}
