//! Random bits from a counter: Philox 4x32 with ten rounds (Salmon, Moraes, Dror, Shaw, 2011).
//!
//! Element `i` of stream `s` under seed `k` depends on (i, s, k) and nothing else: not on threads, machine or order.

use super::vector::{Emit, Lane, Unary, Val};

const MULTIPLIER: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: u32 = 10;

/// The four words at `position`: the meaning of the generator.
pub(crate) fn philox(seed: u64, stream: u64, position: u64) -> [u32; 4] {
    let mut counter = [position as u32, (position >> 32) as u32, stream as u32, (stream >> 32) as u32];
    let mut key = [seed as u32, (seed >> 32) as u32];
    for _ in 0..ROUNDS {
        let a = u64::from(MULTIPLIER[0]) * u64::from(counter[0]);
        let b = u64::from(MULTIPLIER[1]) * u64::from(counter[2]);
        counter = [(b >> 32) as u32 ^ counter[1] ^ key[0], b as u32, (a >> 32) as u32 ^ counter[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

/// Seed and stream as words of 32 bits, low halves first: what [`write()`] is told.
pub(crate) fn halves(seed: u64, stream: u64) -> [u32; 4] {
    [seed as u32, (seed >> 32) as u32, stream as u32, (stream >> 32) as u32]
}

/// Writes word `word` of the generator at a position (`I64`): a `u32` in an `I32` lane. `halves` are those of seed and
/// stream, in `I32` lanes.
pub(crate) fn write(e: &mut Emit, halves: [Val; 4], word: u8, position: Val) -> Val {
    let low = e.convert(Unary::Truncate, position, Lane::I32);
    let high = e.shr(position, 32);
    let high = e.convert(Unary::Truncate, high, Lane::I32);
    let mut counter = [low, high, halves[2], halves[3]];
    let mut key = [halves[0], halves[1]];
    let weyl = WEYL.map(|value| e.int(Lane::I32, i64::from(value)));
    for _ in 0..ROUNDS {
        let (a_high, a_low) = multiply(e, MULTIPLIER[0], counter[0]);
        let (b_high, b_low) = multiply(e, MULTIPLIER[1], counter[2]);
        let first = e.xor(b_high, counter[1]);
        let third = e.xor(a_high, counter[3]);
        counter = [e.xor(first, key[0]), b_low, e.xor(third, key[1]), a_low];
        key = [e.add(key[0], weyl[0]), e.add(key[1], weyl[1])];
    }
    counter[usize::from(word)]
}

/// The high and the low half of a 32 × 32-bit product.
fn multiply(e: &mut Emit, factor: u32, x: Val) -> (Val, Val) {
    let wide = e.convert(Unary::ZeroExtend, x, Lane::I64);
    let factor = e.int(Lane::I64, i64::from(factor));
    let product = e.mul(wide, factor);
    let high = e.shr(product, 32);
    (e.convert(Unary::Truncate, high, Lane::I32), e.convert(Unary::Truncate, product, Lane::I32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_gives_the_published_known_answers() {
        // The known-answer vectors of the Random123 distribution for philox4x32-10.
        assert_eq!(philox(0, 0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox(u64::MAX, u64::MAX, u64::MAX), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            philox(0x299f_31d0_a409_3822, 0x0370_7344_1319_8a2e, 0x85a3_08d3_243f_6a88),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
