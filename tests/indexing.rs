//! Reading and writing by index tensors, against plain loops; and what users read when an index does not fit.

use zither::runtime::set_threads;
use zither::{DType, DynTensor, Error, ErrorKind, Result, ScatterReduce, Tensor, grad};

/// Small numbers, the same in each run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit.max(1)
    }

    fn shape(&mut self, rank: usize) -> Vec<usize> {
        (0..rank).map(|_| 1 + self.below(5)).collect()
    }

    fn values(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| self.below(64) as f64 / 4.0 - 8.0).collect()
    }
}

/// Every index of a shape.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![Vec::new()], |heads, &size| {
        heads.into_iter().flat_map(|head| (0..size).map(move |k| [&head[..], &[k]].concat())).collect()
    })
}

fn place(index: &[usize], shape: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |place, (&k, &size)| place * size + k)
}

/// A tensor, an index that fits it along an axis, and a source at least as large as the index.
struct Case {
    shape: Vec<usize>,
    x: Vec<f64>,
    axis: usize,
    index_shape: Vec<usize>,
    index: Vec<i64>,
    source_shape: Vec<usize>,
    source: Vec<f64>,
}

impl Case {
    fn draw(seed: u64) -> Case {
        let mut draw = Draw(seed);
        let rank = 1 + draw.below(3);
        let shape = draw.shape(rank);
        let axis = draw.below(rank);
        let mut index_shape: Vec<usize> = shape.iter().map(|&size| 1 + draw.below(size)).collect();
        index_shape[axis] = draw.below(7);
        let source_shape: Vec<usize> = index_shape.iter().map(|&size| size + draw.below(2)).collect();
        let count = index_shape.iter().product();
        let size = shape[axis];
        Case {
            x: draw.values(shape.iter().product()),
            index: (0..count).map(|_| draw.below(2 * size) as i64 - size as i64).collect(),
            source: draw.values(source_shape.iter().product()),
            shape,
            axis,
            index_shape,
            source_shape,
        }
    }

    fn tensors(&self) -> [DynTensor; 3] {
        [
            DynTensor::from_data(self.x.clone(), &self.shape),
            DynTensor::from_data(self.index.clone(), &self.index_shape),
            DynTensor::from_data(self.source.clone(), &self.source_shape),
        ]
    }

    /// Calls `f` with the place of each index in the tensor and in the source, in order.
    fn each(&self, mut f: impl FnMut(usize, usize)) {
        for (k, index) in indices(&self.index_shape).into_iter().enumerate() {
            let mut there = index.clone();
            there[self.axis] = self.index[k].rem_euclid(self.shape[self.axis] as i64) as usize;
            f(place(&there, &self.shape), place(&index, &self.source_shape));
        }
    }
}

#[test]
fn gather_and_scatter_do_what_plain_loops_do() -> Result<()> {
    for seed in 0..300 {
        let case = Case::draw(seed);
        let [x, index, source] = case.tensors();
        let axis = case.axis as isize;

        let mut gathered = Vec::new();
        case.each(|there, _| gathered.push(case.x[there]));
        assert_eq!(x.gather(axis, &index).data::<f64>()?, gathered, "gather {seed}");

        let mut set = case.x.clone();
        case.each(|there, from| set[there] = case.source[from]);
        assert_eq!(x.scatter(axis, &index, &source).data::<f64>()?, set, "scatter {seed}");

        let mut sum = case.x.clone();
        case.each(|there, from| sum[there] += case.source[from]);
        assert_eq!(x.scatter_add(axis, &index, &source).data::<f64>()?, sum, "scatter_add {seed}");

        for include in [true, false] {
            let mut groups: Vec<Vec<f64>> =
                case.x.iter().map(|&x| if include { vec![x] } else { Vec::new() }).collect();
            case.each(|there, from| groups[there].push(case.source[from]));
            let total = |how: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
                groups.iter().zip(&case.x).map(|(group, &x)| if group.is_empty() { x } else { how(group) }).collect()
            };
            let found = |how| x.scatter_reduce(axis, &index, &source, how, include).data::<f64>();
            assert_eq!(found(ScatterReduce::Sum)?, total(&|group| group.iter().sum()), "sum {seed}");
            let product = total(&|group| group.iter().product());
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs();
            assert!(found(ScatterReduce::Prod)?.iter().zip(&product).all(near), "prod {seed}");
            let largest = total(&|group| group.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            assert_eq!(found(ScatterReduce::Max)?, largest, "max {seed}");
            let smallest = total(&|group| group.iter().copied().fold(f64::INFINITY, f64::min));
            assert_eq!(found(ScatterReduce::Min)?, smallest, "min {seed}");
            let mean = total(&|group| group.iter().sum::<f64>() / group.len() as f64);
            assert_eq!(found(ScatterReduce::Mean)?, mean, "mean {seed}");
        }
    }
    Ok(())
}

#[test]
fn a_scatter_s_gradient_goes_to_what_stayed() -> Result<()> {
    // Two go to place 1, and the second stays; place 0 is replaced.
    let x = Tensor::new([1.0f64, 2.0, 3.0]);
    let source = Tensor::new([10.0f64, 20.0, 30.0]);
    let y = x.scatter(0, &Tensor::new([1, 0, 1]), &source);
    let weights = Tensor::new([1.0f64, 2.0, 4.0]);
    let grads = grad(&(&y * &weights).sum_all(), &[&x, &source])?;
    assert_eq!(y.data()?, [20.0, 30.0, 3.0]);
    assert_eq!((grads[0].data()?, grads[1].data()?), (vec![0.0, 0.0, 4.0], vec![0.0, 1.0, 2.0]));
    Ok(())
}

#[test]
fn a_scattered_product_has_its_slope_among_zeros() -> Result<()> {
    let source = Tensor::new([2.0f64, 0.0, 3.0, 4.0, 0.0, 0.0, 5.0]);
    let index = Tensor::new([0, 0, 0, 1, 2, 2, 1]);
    let y = Tensor::<f64, _>::ones([3]).scatter_reduce(0, &index, &source, ScatterReduce::Prod, true);
    let slope = &grad(&y.sum_all(), &[&source])?[0];
    assert_eq!(slope.data()?, [0.0, 6.0, 0.0, 5.0, 0.0, 0.0, 4.0]);
    assert_eq!(y.data()?, [0.0, 20.0, 0.0]);
    Ok(())
}

/// A plain sum of `f32` in order, by place.
fn plain_sums(index: &[i64], source: &[f32], width: usize, places: usize) -> Vec<f64> {
    let mut sums = vec![0.0; places * width];
    for (row, &at) in index.iter().enumerate() {
        for column in 0..width {
            sums[at as usize * width + column] += f64::from(source[row * width + column]);
        }
    }
    sums
}

#[test]
fn large_scatters_are_right_and_the_same_bits_for_any_number_of_threads() -> Result<()> {
    // Few places and many collisions, many places, rows of several widths, many blocks.
    for (rows, width, places) in
        [(300_000, 1, 100), (300_000, 1, 200_000), (3000, 700, 50), (40_000, 8, 1000), (9, 3, 4)]
    {
        let mut draw = Draw(rows as u64 + width as u64);
        let index: Vec<i64> = (0..rows).map(|_| draw.below(places) as i64).collect();
        let source: Vec<f32> = draw.values(rows * width).into_iter().map(|x| x as f32 * 1.1).collect();
        let expected = plain_sums(&index, &source, width, places);
        let mut bits: Option<Vec<u32>> = None;
        for threads in [1, 2, 3] {
            set_threads(threads);
            let x = DynTensor::from_data(vec![0.0f32; places * width], &[places, width]).realize()?;
            let (index, source) =
                (DynTensor::from_data(index.clone(), &[rows]), DynTensor::from_data(source.clone(), &[rows, width]));
            let sums = x.index_add(0, &index, &source).data::<f32>()?;
            let spread = index.reshape(&[rows as isize, 1]).expand(&[rows as isize, width as isize]).cast(DType::I32);
            let same = x.scatter_add(0, &spread.cast(DType::I64).realize()?, &source).data::<f32>()?;
            assert_eq!(sums, same, "one index for a row, or one for each element: {rows} {width} {places}");
            for (found, expected) in sums.iter().zip(&expected) {
                assert!((f64::from(*found) - expected).abs() <= 1e-3 + 1e-5 * expected.abs(), "{found} {expected}");
            }
            let found: Vec<u32> = sums.iter().map(|sum| sum.to_bits()).collect();
            assert!(bits.as_ref().is_none_or(|bits| *bits == found), "{threads} threads: {rows} {width} {places}");
            bits = Some(found);
        }
        set_threads(0);
    }
    Ok(())
}

#[test]
fn an_embedding_and_its_gradient_are_those_of_the_rows() -> Result<()> {
    let mut draw = Draw(5);
    let (count, width, words) = (50, 96, 700);
    let table = Tensor::from_data(draw.values(count * width), [count, width]);
    let index: Vec<i64> = (0..words).map(|_| draw.below(count) as i64).collect();
    let found = table.embedding(&Tensor::from_data(index.clone(), [7, 100]));
    assert_eq!(found.shape(), [7, 100, width]);
    let gradient = grad(&found.sum_all(), &[&table])?[0].data()?;
    let rows = table.data()?;
    let expected: Vec<f64> = index.iter().flat_map(|&row| rows[row as usize * width..][..width].to_vec()).collect();
    assert_eq!(found.data()?, expected);
    for row in 0..count {
        let uses = index.iter().filter(|&&at| at == row as i64).count() as f64;
        assert!(gradient[row * width..][..width].iter().all(|&slope| slope == uses), "row {row}");
    }
    Ok(())
}

#[test]
fn a_lookup_fuses_with_what_is_around_it() {
    let table = Tensor::<f32, _>::zeros([50, 16]).realize().unwrap();
    let words = Tensor::from_data(vec![3i64; 40], [4, 10]);
    let positions = Tensor::<f32, _>::zeros([10, 16]).realize().unwrap();
    assert_eq!((table.embedding(&words) + &positions).explain().kernels, 1);
    // The product, or the sum, never sees the ones and zeros in memory: what is moved is far less than they would take.
    let hot = words.one_hot(50).cast::<f32>();
    let product = hot.reshape([40, 50]).matmul(&table).explain();
    let sum = hot.sum_axis(-1).explain();
    assert!(product.bytes_moved < 12_000 && sum.bytes_moved < 2_000, "{} {}", product.bytes_moved, sum.bytes_moved);
}

#[test]
fn what_is_not_zero_is_found() -> Result<()> {
    let x = Tensor::new([[0.0f32, 2.0, 0.0], [-1.0, 0.0, f32::NAN]]);
    assert_eq!(x.nonzero().to_vec2()?, [[0, 1], [1, 0], [1, 2]]);
    assert_eq!(Tensor::<i32, _>::zeros([2, 3]).nonzero().shape(), [0, 2]);
    assert_eq!(Tensor::new(7).nonzero().shape(), [1, 0]);
    let kept = x.masked_select(&x.gt(0.0));
    let slope = &grad(&kept.sum_all(), &[&x])?[0];
    assert_eq!((kept.data()?, slope.data()?), (vec![2.0], vec![0.0, 1.0, 0.0, 0.0, 0.0, 0.0]));
    assert_eq!(x.masked_select(&Tensor::new([true, false, false])).data()?, [0.0, -1.0]);
    assert_eq!(x.masked_select(&Tensor::new([false, false, false])).shape(), [0]);
    Ok(())
}

#[test]
fn numbers_are_counted() -> Result<()> {
    assert_eq!(Tensor::new([1u8, 3, 1]).bincount(6).data()?, [0, 2, 0, 1, 0, 0]);
    assert_eq!(Tensor::<i32, _>::zeros([0]).bincount(0).shape(), [0]);
    let error = Tensor::new([1, -1]).bincount(0).data().unwrap_err();
    assert!(
        error.to_string().starts_with("bincount: index -1 is out of range for an axis of 2: use 0 to 1"),
        "{error}"
    );
    Ok(())
}

#[track_caller]
fn check<T>(result: Result<T>, kind: ErrorKind, text: &str) {
    let error: Error = result.err().expect("an error");
    assert_eq!(error.to_string(), text.replace("FILE", file!()));
    assert_eq!(error.kind(), kind);
}

#[test]
fn an_index_that_does_not_fit_is_named() {
    let (x, made_x) = (Tensor::<f32, _>::zeros([2, 3]), line!());
    let (index, made_index) = (Tensor::<i64, _>::zeros([3, 3]), line!());
    let (source, made_source) = (Tensor::<f32, _>::zeros([3, 3]), line!());
    let made = |other: u32| format!("left made at FILE:{made_x}, right made at FILE:{other}");
    check(x.try_gather(-3, &index), ErrorKind::Axis, &axis("gather", -3, made_x));
    check(x.try_scatter(2, &index, &source), ErrorKind::Axis, &axis("scatter", 2, made_x));
    let text = "index of shape [3, 3] does not fit a tensor of shape [2, 3] along axis 1";
    check(x.try_gather(1, &index), ErrorKind::Shape, &format!("gather: {text}\n  {}", made(made_index)));
    let text = "index of shape [3, 3] and source of shape [3, 3] do not fit a tensor of shape [2, 3] along axis 1";
    for (op, result) in [
        ("scatter", x.try_scatter(1, &index, &source)),
        ("scatter_add", x.try_scatter_add(1, &index, &source)),
        ("scatter_reduce", x.try_scatter_reduce(1, &index, &source, ScatterReduce::Max, true)),
    ] {
        check(result, ErrorKind::Shape, &format!("{op}: {text}\n  {}", made(made_index)));
    }
    let line = Tensor::new([0i64, 1]);
    let text = "a source of shape [3, 3] does not fit a tensor of shape [2, 3] and 2 indices along axis 0: \
                it must have shape [2, 3]";
    for (op, result) in
        [("index_add", x.try_index_add(0, &line, &source)), ("index_copy", x.try_index_copy(0, &line, &source))]
    {
        check(result, ErrorKind::Shape, &format!("{op}: {text}\n  {}", made(made_source)));
    }
    let dynamic = x.to_dynamic();
    let (floats, made_floats) = (DynTensor::from_data(vec![0.0f32], &[1]), line!());
    let text = "an index is an integer tensor, this one is f32: cast it";
    for (op, result) in [
        ("take", dynamic.try_take(&floats)),
        ("embedding", dynamic.try_embedding(&floats)),
        ("one_hot", floats.try_one_hot(3)),
    ] {
        check(result, ErrorKind::DType, &format!("{op}: {text}\n  index made at FILE:{made_floats}"));
    }
    let (cube, made_cube) = (DynTensor::from_data(vec![0.0f32], &[1, 1, 1]), line!());
    let text = "the table has shape [1, 1, 1]: it must be [count, width]";
    check(
        cube.try_embedding(&floats),
        ErrorKind::Shape,
        &format!("embedding: {text}\n  table made at FILE:{made_cube}"),
    );
    let text = format!("the mask is f32, not bool: compare it, as in x.ne(0)\n  mask made at FILE:{made_floats}");
    check(dynamic.try_masked_fill(&floats, 0.0), ErrorKind::DType, &format!("masked_fill: {text}"));
    check(dynamic.try_masked_select(&floats), ErrorKind::DType, &format!("masked_select: {text}"));
}

fn axis(op: &str, axis: isize, made: u32) -> String {
    format!("{op}: axis {axis} is out of range for shape [2, 3] (rank 2): use -2 to 1\n  tensor made at FILE:{made}")
}

#[test]
fn an_index_outside_its_axis_is_named_when_it_is_met() {
    let x = Tensor::new([[1.0f32, 2.0, 3.0]]);
    let index = Tensor::new([[0i64, 7]]);
    let made = format!("tensor made at FILE:{}\n  index made at FILE:{}", line!() - 2, line!() - 1);
    let out = "index 7 is out of range for an axis of 3: use -3 to 2";
    let found = x.gather(1, &index).data();
    check(found, ErrorKind::Index, &format!("gather: {out}\n  result made at FILE:{}\n  {made}", line!() - 1));
    let found = x.scatter_add(1, &index, &Tensor::new([[1.0, 1.0]])).data();
    check(found, ErrorKind::Index, &format!("scatter_add: {out}\n  result made at FILE:{}", line!() - 1));
    let found = x.scatter(1, &index, &Tensor::new([[1.0, 1.0]])).data();
    check(found, ErrorKind::Index, &format!("scatter: {out}\n  result made at FILE:{}", line!() - 1));
    let found = x.index_add(1, &Tensor::new([7]), &Tensor::new([[1.0]])).data();
    check(found, ErrorKind::Index, &format!("index_add: {out}\n  result made at FILE:{}", line!() - 1));
    let (table, words) = (Tensor::new([[1.0f32], [2.0]]), Tensor::new([0i64, -1]));
    let found = table.embedding(&words).data().unwrap_err().to_string();
    let text = "embedding: index -1 is out of range for an axis of 2: use 0 to 1\n  result made at ";
    assert!(found.starts_with(text), "{found}");
    let found = words.one_hot(2).data().unwrap_err().to_string();
    assert!(found.starts_with("one_hot: index -1 is out of range for an axis of 2: use 0 to 1\n"), "{found}");
    // Of many the first is named, whichever thread comes first.
    let many = Tensor::<i64, _>::arange(0, 100_000);
    let found = Tensor::<f32, _>::zeros([500]).take(&many).data().unwrap_err().to_string();
    assert!(found.starts_with("take: index 500 is out of range for an axis of 500: use -500 to 499"), "{found}");
}
