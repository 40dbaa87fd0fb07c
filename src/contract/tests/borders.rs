//! Operands with borders: windows that reach beyond an image, and any other guards.

use super::naive::{Case, Dice, Extras, Layout, check, naive, numbers, run};
use crate::contract::plan::{self, Machine, Path, Read};
use crate::contract::{Guard, Side};
use crate::dtype::DType;

/// How windows lie along one axis of an image.
#[derive(Clone, Copy, Debug)]
struct Along {
    size: usize,
    taps: usize,
    padding: usize,
    stride: usize,
    dilation: usize,
}

impl Along {
    fn any(dice: &mut Dice) -> Along {
        let (taps, dilation) = (dice.pick(&[1usize, 2, 3, 5]), dice.pick(&[1usize, 1, 2]));
        let (padding, stride) = (dice.pick(&[0usize, 1, 1, 2, 6]), dice.pick(&[1, 1, 2, 3]));
        let least = ((taps - 1) * dilation + 1).saturating_sub(2 * padding).max(1);
        Along { size: least + dice.pick(&[0, 1, 3, 7, 13, 20]), taps, padding, stride, dilation }
    }

    fn places(&self) -> usize {
        (self.size + 2 * self.padding - (self.taps - 1) * self.dilation - 1) / self.stride + 1
    }
}

/// Which of the axes of windows are lines.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The places: depth is channels and taps, as in a convolution.
    Forward,
    /// Channels and taps: depth is images and places, as in the gradient of its kernel.
    Kernel,
}

/// Windows over images of `channels`, as one operand of a contraction, with `others` lines of a dense one.
fn windows(
    kind: Kind,
    dtype: DType,
    [images, groups, channels, others]: [usize; 4],
    along: &[Along],
    is_left: bool,
) -> Case {
    let sizes = |of: fn(&Along) -> usize| along.iter().map(of).collect::<Vec<usize>>();
    let (places, taps) = (sizes(Along::places), sizes(|along| along.taps));
    let by_tap: Vec<usize> = [channels].into_iter().chain(taps.iter().copied()).collect();
    let by_place: Vec<usize> = [images].into_iter().chain(places.iter().copied()).collect();
    let (batch, lines, depth) = match kind {
        Kind::Forward => (vec![images, groups], places, by_tap),
        Kind::Kernel => (vec![groups], by_tap, by_place),
    };
    let few = vec![others];
    let (rows, cols) = if is_left { (&lines, &few) } else { (&few, &lines) };
    let mut case = Case::new(dtype, [&batch, rows, cols, &depth], [Layout::Dense; 3]);
    // Strides over images, groups, channels, places and taps; guards over places and taps.
    let mut pitch = 1;
    let (mut at_places, mut at_taps, mut offset) = (vec![0; along.len()], vec![0; along.len()], 0);
    for (axis, along) in along.iter().enumerate().rev() {
        at_places[axis] = pitch * along.stride as i64;
        at_taps[axis] = pitch * along.dilation as i64;
        offset -= pitch * along.padding as i64;
        pitch *= along.size as i64;
    }
    let (channel, group, image) = (pitch, pitch * channels as i64, pitch * (channels * groups) as i64);
    let in_order = |image: i64, group: i64, channel: i64, places: &[i64], taps: &[i64]| -> Vec<i64> {
        match kind {
            Kind::Forward => [&[image, group], places, &[channel], taps].concat(),
            Kind::Kernel => [&[group, channel], taps, &[image], places].concat(),
        }
    };
    let guards = along.iter().enumerate().filter(|(_, along)| along.padding > 0).map(|(axis, of)| {
        let only = |step: usize| (0..along.len()).map(|other| if other == axis { step as i64 } else { 0 }).collect();
        let (places, taps): (Vec<i64>, Vec<i64>) = (only(of.stride), only(of.dilation));
        let (low, high) = (of.padding as i64, (of.padding + of.size) as i64);
        Guard { steps: in_order(0, 0, 0, &places, &taps), low, high }
    });
    let len = (image * images as i64) as usize;
    let side = Side {
        strides: in_order(image, group, channel, &at_places, &at_taps),
        offset,
        computed: false,
        guards: guards.collect(),
        len,
    };
    match is_left {
        true => (case.c.left, case.left_len) = (side, len),
        false => (case.c.right, case.right_len) = (side, len),
    }
    case
}

#[test]
fn windows_of_every_kind_beyond_their_image() {
    let mut dice = Dice::new(31);
    for round in 0..600 {
        let rank = 1 + dice.below(3);
        let along: Vec<Along> = (0..rank).map(|_| Along::any(&mut dice)).collect();
        let kind = dice.pick(&[Kind::Forward, Kind::Kernel]);
        let sizes = [dice.pick(&[1, 2]), dice.pick(&[1, 2]), dice.pick(&[1, 2, 3, 16]), dice.pick(&[1, 3, 10, 20])];
        let work = |along: &Along| along.places() * along.taps;
        if along.iter().map(work).product::<usize>() * sizes.iter().product::<usize>() > 1 << 21 {
            continue;
        }
        let dtype = dice.pick(&[DType::F32, DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::U8]);
        let case = windows(kind, dtype, sizes, &along, round % 4 == 0);
        let extras =
            Extras { finish: round % 3 == 0, older: round % 5 % 3, backwards: round % 7 == 0, ..Extras::default() };
        check(&case, extras);
    }
}

#[test]
fn many_taps_and_few() {
    for (taps, size) in [(7, 9), (11, 23), (16, 20), (17, 30)] {
        let along = Along { size, taps, padding: taps / 2, stride: 1, dilation: 1 };
        for dtype in [DType::F32, DType::F64] {
            for older in 0..3 {
                for is_left in [false, true] {
                    let case = windows(Kind::Forward, dtype, [1, 1, 2, 7], &[along, along], is_left);
                    check(&case, Extras { older, ..Extras::default() });
                }
            }
        }
    }
}

#[test]
fn parts_share_what_is_packed_through_a_border() {
    // So many rows that the columns are cut, and packed once for all.
    let along = Along { size: 14, taps: 3, padding: 1, stride: 1, dilation: 1 };
    for kind in [Kind::Forward, Kind::Kernel] {
        for is_left in [false, true] {
            for older in 0..3 {
                let case = windows(kind, DType::F32, [2, 1, 30, 300], &[along, along], is_left);
                check(&case, Extras { older, ..Extras::default() });
            }
        }
    }
}

#[test]
fn windows_so_deep_that_there_are_several_blocks() {
    let along = Along { size: 14, taps: 3, padding: 1, stride: 1, dilation: 1 };
    for (kind, sizes) in [(Kind::Forward, [1, 1, 90, 7]), (Kind::Kernel, [5, 1, 3, 20])] {
        for is_left in [false, true] {
            for older in 0..3 {
                let case = windows(kind, DType::F32, sizes, &[along, along], is_left);
                check(&case, Extras { older, ..Extras::default() });
            }
        }
    }
}

#[test]
fn first_rows_pack_the_windows_they_read() {
    let machines = Machine::all();
    // Of one piece and of several, with and without a border; with few kinds of depth, many, and as many as there are depths.
    for (size, taps, padding, channels) in [(30, 3, 1, 8), (30, 3, 0, 8), (26, 3, 2, 90), (33, 9, 4, 3), (27, 8, 4, 1)]
    {
        let along = Along { size, taps, padding, stride: 1, dilation: 1 };
        for dtype in [DType::F32, DType::F64] {
            for (others, older) in [(6, 0), (7, 0), (8, 0), (19, 0), (13, 1), (7, 1), (12, 2)] {
                let short = Along { size: 11, ..along };
                let case = windows(Kind::Forward, dtype, [2, 1, channels, others], &[short, along], false);
                let machine = machines[machines.len().saturating_sub(1 + older)];
                let Path::Blocked(plan) = plan::product_on(machine, &case.c).path else { panic!("there are blocks") };
                let expected = match &format!("{machine:?}")[..] {
                    "Avx2" => true,
                    // Tiles of eight rows, and masks that come eight times.
                    "Avx512" => others >= 8 && (padding == 0 || channels >= 8),
                    _ => false,
                };
                assert_eq!(plan.right == Read::Through, expected, "{machine:?}, {case:?}");
                check(&case, Extras { finish: others == 7, older, ..Extras::default() });
            }
        }
    }
}

#[test]
fn guards_of_any_steps_on_any_axes() {
    let mut dice = Dice::new(32);
    for round in 0..400 {
        let groups: [Vec<usize>; 4] = std::array::from_fn(|_| {
            let rank = dice.below(3);
            (0..rank).map(|_| dice.pick(&[1, 2, 3, 5, 9, 17])).collect()
        });
        if groups.iter().flatten().product::<usize>() > 1 << 18 {
            continue;
        }
        let dtype = dice.pick(&DType::ALL[1..]);
        let layouts = std::array::from_fn(|_| dice.pick(&[Layout::Dense, Layout::Turned, Layout::Loose]));
        let mut case = Case::new(dtype, [&groups[0], &groups[1], &groups[2], &groups[3]], layouts);
        for side in [&mut case.c.left, &mut case.c.right] {
            for _ in 0..dice.below(3) {
                let steps = side.strides.iter().map(|_| dice.pick(&[0, 0, 1, -1, 2, -3])).collect();
                let low = dice.below(12) as i64 - 6;
                side.guards.push(Guard { steps, low, high: low + dice.below(14) as i64 });
            }
        }
        let extras =
            Extras { finish: round % 3 == 0, older: round % 3, left_source: round % 5 == 0, ..Extras::default() };
        check(&case, extras);
    }
}

#[test]
fn a_zero_of_a_border_meets_infinity_as_any_other() {
    let along = Along { size: 9, taps: 3, padding: 1, stride: 1, dilation: 1 };
    for older in 0..3 {
        let case = windows(Kind::Forward, DType::F32, [1, 1, 2, 4], &[along, along], false);
        let mut left = numbers::<f32>(case.left_len, 1);
        left[0] = f32::INFINITY;
        left[7] = f32::NAN;
        let right = numbers::<f32>(case.right_len, 2);
        let got = run(&case, &left, &right, Extras { older, ..Extras::default() });
        let expected = naive(&case, &left, &right);
        let same = |(got, (sum, _)): (&f64, &(f64, f64))| {
            got.is_nan() == sum.is_nan() && got.is_infinite() == sum.is_infinite()
        };
        assert!(got.iter().zip(&expected).all(same));
        assert!(got[0].is_nan() && got[9 * 9 - 1].is_nan());
    }
}
