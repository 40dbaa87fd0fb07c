//! Random views against the plainest evaluation, and what happens with views that make no sense.

use zither::ErrorKind;
use zither::strided::{Strided, map, reduce, tensor_map, zip};

/// A small generator, so that a failure repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

/// A view with an owner, and a length of slice that holds it.
#[derive(Debug)]
struct View {
    shape: Vec<usize>,
    strides: Vec<isize>,
    offset: usize,
    len: usize,
}

impl View {
    /// A view of `shape` with its axes in any order, steps of any sign, and room around it.
    fn random(random: &mut Random, shape: &[usize]) -> View {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i + 1));
        }
        let mut strides = vec![0; shape.len()];
        let mut room = 1;
        let mut offset = 0;
        for axis in order {
            let step = room * (1 + random.below(4) / 3);
            room = step * shape[axis].max(1);
            strides[axis] = step as isize;
            if random.below(4) == 0 {
                strides[axis] = -strides[axis];
                offset += step * shape[axis].saturating_sub(1);
            }
        }
        let before = random.below(3);
        View { shape: shape.to_vec(), strides, offset: offset + before, len: before + room + random.below(3) }
    }

    /// A shape that broadcasts to `shape`.
    fn broadcast_shape(random: &mut Random, shape: &[usize]) -> Vec<usize> {
        let skip = if random.below(3) == 0 { random.below(shape.len() + 1) } else { 0 };
        shape[skip..].iter().map(|&size| if random.below(4) == 0 { 1 } else { size }).collect()
    }

    fn view(&self) -> Strided<'_> {
        Strided::new(&self.shape, &self.strides).at(self.offset)
    }

    /// The position that an index of a larger shape reads.
    fn position(&self, index: &[usize]) -> usize {
        let index = &index[index.len() - self.shape.len()..];
        let steps = (0..index.len()).filter(|&axis| self.shape[axis] != 1);
        (self.offset as isize + steps.map(|axis| index[axis] as isize * self.strides[axis]).sum::<isize>()) as usize
    }
}

/// Every index of a shape, last axis fastest.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |all, &size| {
        all.iter().flat_map(|index| (0..size).map(|i| [index.as_slice(), &[i]].concat())).collect()
    })
}

fn random_shape(random: &mut Random) -> Vec<usize> {
    const SIZES: [usize; 12] = [0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 17, 70];
    let rank = random.below(5);
    let shape: Vec<usize> = (0..rank).map(|_| SIZES[random.below(SIZES.len())]).collect();
    if shape.iter().product::<usize>() > 50_000 { vec![33, 1, 65] } else { shape }
}

#[test]
fn random_maps_and_zips_agree_with_the_plainest_evaluation() {
    let mut random = Random(0x5EED);
    for round in 0..1500 {
        let shape = random_shape(&mut random);
        let out_view = View::random(&mut random, &shape);
        let [a_view, b_view] = [0, 1].map(|_| {
            let shape = View::broadcast_shape(&mut random, &shape);
            View::random(&mut random, &shape)
        });
        let a: Vec<i64> = (0..a_view.len as i64).collect();
        let b: Vec<i64> = (0..b_view.len as i64).map(|i| i * 1_000_000).collect();
        let (mut mapped, mut zipped) = (vec![-1; out_view.len], vec![-1; out_view.len]);
        let mut expected = (mapped.clone(), zipped.clone());
        for index in indices(&shape) {
            let (o, x, y) = (out_view.position(&index), a[a_view.position(&index)], b[b_view.position(&index)]);
            expected.0[o] = x * 2;
            expected.1[o] = y - x;
        }
        map(&mut mapped, out_view.view(), &a, a_view.view(), |x| x * 2).unwrap();
        zip(&mut zipped, out_view.view(), &a, a_view.view(), &b, b_view.view(), |x, y| y - x).unwrap();
        // Positions outside the view kept their -1 in both.
        assert!((mapped, zipped) == expected, "round {round}: {out_view:?} {a_view:?} {b_view:?}");
    }
}

#[test]
fn random_reductions_agree_with_the_plainest_evaluation() {
    let mut random = Random(0xF01D);
    for round in 0..1500 {
        let shape = random_shape(&mut random);
        let Some(axis) = (!shape.is_empty()).then(|| random.below(shape.len())) else { continue };
        let mut out_shape = shape.clone();
        out_shape[axis] = 1;
        let (in_view, out_view) = (View::random(&mut random, &shape), View::random(&mut random, &out_shape));
        let input: Vec<u64> = (0..in_view.len as u64).collect();
        let f = |a: u64, x: u64| a.wrapping_mul(31).wrapping_add(x);
        let mut out = vec![7; out_view.len];
        let mut expected = out.clone();
        for index in indices(&shape) {
            let o = out_view.position(&index);
            expected[o] = f(expected[o], input[in_view.position(&index)]);
        }
        reduce(&mut out, out_view.view(), &input, in_view.view(), axis, f).unwrap();
        assert!(out == expected, "round {round}, axis {axis}: {out_view:?} {in_view:?}");
    }
}

/// The error of mapping a slice of 6 to a slice of 6.
fn map_error(out_view: Strided<'_>, in_view: Strided<'_>) -> (ErrorKind, String) {
    let error = map(&mut [0; 6], out_view, &[0; 6], in_view, |x: i32| x).unwrap_err();
    (error.kind(), error.to_string())
}

#[test]
fn views_that_make_no_sense_are_errors_that_say_what_to_change() {
    let good = Strided::new(&[2, 3], &[3, 1]);
    let cases = [
        (Strided::new(&[2, 3], &[3]), good, ErrorKind::Shape, "one stride for each axis"),
        (good, Strided::new(&[6], &[1, 1]), ErrorKind::Shape, "one stride for each axis"),
        (good, Strided::new(&[2, 2], &[2, 1]), ErrorKind::Shape, "axis 1 is 2 and should be 3 or 1"),
        (good, Strided::new(&[1, 2, 3], &[6, 3, 1]), ErrorKind::Shape, "it has 3 axes, the output 2"),
        (Strided::new(&[2, 3], &[4, 1]), good, ErrorKind::Index, "reaches position 6, but the slice has 6 elements"),
        (good, good.at(1), ErrorKind::Index, "reaches position 6"),
        (good, Strided::new(&[2, 3], &[3, -1]), ErrorKind::Index, "start at an offset of at least 2"),
        (good.at(usize::MAX), good, ErrorKind::Index, "the output of shape [2, 3]"),
        (Strided::new(&[2, 3], &[0, 1]), good, ErrorKind::Value, "overlaps itself"),
        (Strided::new(&[2, 3], &[1, 1]), good, ErrorKind::Value, "overlaps itself"),
        (Strided::new(&[usize::MAX >> 1, 4], &[4, 1]), Strided::new(&[], &[]), ErrorKind::Index, "but the slice has 6"),
        (
            Strided::new(&[usize::MAX / 2 + 1, 2], &[-2, 1]),
            Strided::new(&[], &[]),
            ErrorKind::Index,
            "goes back to position",
        ),
    ];
    for (out_view, in_view, kind, text) in cases {
        let (got_kind, got) = map_error(out_view, in_view);
        assert!(got_kind == kind && got.contains(text) && got.starts_with("map: "), "{got}");
    }
}

#[test]
fn empty_outputs_call_nothing_and_need_no_elements() {
    let mut out: [i32; 0] = [];
    tensor_map(&mut out, &[3, 0], &[0, 1], &[] as &[i32], &[3, 0], &[7, -9], |_| unreachable!()).unwrap();
    tensor_map(&mut out, &[0], &[1], &[5], &[1], &[1], |_: i32| unreachable!()).unwrap();
}

#[test]
fn a_panic_of_the_closure_comes_out_and_later_calls_work() {
    let input: Vec<i32> = (0..100_000).collect();
    let view = Strided::new(&[100_000], &[1]);
    let mut out = vec![0; input.len()];
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        map(&mut out, view, &input, view, |x| if x == 77_777 { std::panic::resume_unwind(Box::new(x)) } else { x })
    }));
    assert_eq!(*caught.unwrap_err().downcast::<i32>().unwrap(), 77_777);
    map(&mut out, view, &input, view, |x| -x).unwrap();
    assert!(out.iter().zip(&input).all(|(out, x)| *out == -x));
}

#[test]
fn more_than_eight_axes_work() {
    let shape = [2usize; 10];
    let strides: Vec<isize> = (0..10).map(|axis| 1 << axis).collect();
    let dense: Vec<isize> = strides.iter().rev().copied().collect();
    let input: Vec<usize> = (0..1024).collect();
    let mut out = vec![0; 1024];
    tensor_map(&mut out, &shape, &dense, &input, &shape, &strides, |x| x).unwrap();
    assert!(out.iter().enumerate().all(|(i, &x)| x == i.reverse_bits() >> (usize::BITS - 10)));
}

#[test]
fn elements_without_a_size_work() {
    let mut out = [(); 6];
    tensor_map(&mut out, &[2, 3], &[3, 1], &[(); 6], &[3, 2][..0], &[], |x| x).unwrap();
}
