//! A plan knows the most memory it will take, and what is not to be had is an error.
//!
//! Bytes are counted in this process, so the tests that count them take turns.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use zither::{AttentionOptions, Dim0, Dim1, Dim2, Dim4, Dimension, ErrorKind, Matrix, Result, Tensor, Vector, Window};
use zither::{compile, grad, memory, realize_all};

/// Counts the bytes of buffers: they are the blocks on cache lines.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is handed to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() >= 64 {
            let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
            PEAK.fetch_max(live, Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if layout.align() >= 64 {
            LIVE.fetch_sub(layout.size(), Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Held by the test whose turn it is.
fn take_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks that running what `make` makes takes as much as its plan says. A thread keeps a little scratch for itself from the first run
/// it has a hand in, so the first runs may take more.
fn check(name: &str, make: impl Fn() -> Tensor<f32, Dim2>) -> Result<()> {
    let mut taken = (0, 1);
    for _ in 0..16 {
        let wanted = make();
        let planned = wanted.explain().peak_bytes;
        memory::trim();
        let before = LIVE.load(Relaxed);
        PEAK.store(before, Relaxed);
        wanted.realize()?;
        taken = (PEAK.load(Relaxed) - before, planned);
        assert!(taken.0 >= taken.1, "{name}: {} measured, {} planned", taken.0, taken.1);
        if taken.0 == taken.1 {
            return Ok(());
        }
    }
    assert_eq!(taken.0, taken.1, "{name}: measured, and planned");
    Ok(())
}

#[test]
fn a_planned_peak_is_what_is_measured() -> Result<()> {
    let _turn = take_turn();
    let x = Tensor::<f32, Dim2>::rand([500, 300]).realize()?;
    let y = Tensor::<f32, Dim2>::rand([300, 500]).realize()?;
    check("one kernel", || (&x * 2.0 + 1.0).exp())?;
    check("rows with scratch", || x.softmax(1))?;
    check("a product and what follows", || x.matmul(&y).relu())?;
    let narrow = x.cast::<i8>().realize()?;
    check("a product whose operand is computed", || x.matmul(&(narrow.cast::<f32>() * 0.1).t()))?;
    check("a long sum in parts", || (&x - x.sum_all()).exp())?;
    check("values that live at different times", || {
        let mut z = x.clone();
        for _ in 0..6 {
            z = z.matmul(&y).matmul(&x) * 1e-4;
        }
        z
    })?;
    check("nothing", || x.clone())
}

#[test]
fn what_lies_between_shares_memory() -> Result<()> {
    let _turn = take_turn();
    let x = Tensor::<f32, Dim2>::rand([256, 256]).realize()?;
    let chain = |steps: usize| (0..steps).fold(x.clone(), |z, _| z.matmul(&x) * 1e-2);
    // However long the chain, there are never more than two of its links at a time, besides what one step takes: its result and the
    // panels that its operands are packed into. (Blocks of memory come in sizes at most a quarter apart.)
    let bytes = 256 * 256 * 4;
    let peak = |steps: usize| chain(steps).explain().peak_bytes;
    let one_step = peak(1);
    assert!(one_step < 4 * bytes, "one step takes {one_step} bytes");
    for steps in [3, 10, 30] {
        assert!(peak(steps) <= one_step + 3 * bytes, "{steps} steps take {} bytes, one {one_step}", peak(steps));
        assert_eq!(peak(steps), peak(3), "{steps} steps");
    }
    Ok(())
}

/// The most bytes that are taken while something runs. A thread keeps a little scratch for itself from the first run it has a hand in.
fn taken(run: impl Fn() -> Result<()>) -> Result<usize> {
    let mut least = usize::MAX;
    for _ in 0..3 {
        memory::trim();
        let before = LIVE.load(Relaxed);
        PEAK.store(before, Relaxed);
        run()?;
        least = least.min(PEAK.load(Relaxed) - before);
    }
    Ok(least)
}

#[test]
fn the_memory_of_attention_grows_with_its_length_not_with_the_square_of_it() -> Result<()> {
    let _turn = take_turn();
    let causal = AttentionOptions { causal: true, ..AttentionOptions::default() };
    let of_length = |length: usize| -> Result<[usize; 2]> {
        let [q, k, v, g] = [(); 4].map(|()| Tensor::<f32, Dim4>::rand([1, 8, length, 64]).realize());
        let (q, k, v, g) = (q?, k?, v?, g?);
        let forward = taken(|| q.scaled_dot_product_attention(&k, &v, causal).realize().map(drop))?;
        let both = taken(|| {
            let y = q.scaled_dot_product_attention(&k, &v, causal);
            let gradients = grad(&(&y * &g).sum_all(), &[&q, &k, &v])?;
            let wanted: Vec<_> = gradients.iter().chain([&y]).map(|tensor| tensor.to_dynamic()).collect();
            realize_all(&wanted.iter().collect::<Vec<_>>())
        })?;
        Ok([forward, both])
    };
    let peaks = [512, 1024, 2048].map(of_length);
    let [short, middle, long] = peaks;
    let (short, middle, long) = (short?, middle?, long?);
    for which in 0..2 {
        let peaks = [short[which], middle[which], long[which]];
        // Twice as much is linear, four times as much would be the square; and tiles have more rows where there are more.
        assert!(peaks.windows(2).all(|pair| pair[1] <= pair[0] * 11 / 4), "{peaks:?}");
        assert!(peaks[2] <= peaks[0] * 5, "{peaks:?}");
        // All scores of one head alone would be 16 MiB.
        assert!(peaks[2] < 8 * 2048 * 2048 * 4 / 4, "{peaks:?}");
    }
    Ok(())
}

#[test]
fn a_convolution_takes_its_output_and_panels() -> Result<()> {
    let _turn = take_turn();
    let x = Tensor::<f32, Dim4>::rand([16, 64, 56, 56]).realize()?;
    let w = Tensor::<f32, Dim4>::rand([64, 64, 3, 3]).realize()?;
    let g = Tensor::<f32, Dim4>::rand([16, 64, 56, 56]).realize()?;
    let convolved = || x.conv2d(&w, None, Window { padding: [1; 2], ..Window::default() });
    let gradient = |of: &Tensor<f32, Dim4>| grad(&(&convolved() * &g).sum_all(), &[of])?[0].realize().map(drop);
    // The input with its border would be as much again. (Blocks of memory come in sizes at most a quarter apart.)
    let bytes = 16 * 64 * 56 * 56 * 4;
    let forward = taken(|| convolved().realize().map(drop))?;
    // The gradient of the input is as large as it; that of the kernel is small, but packs the output's gradient whole.
    let (of_input, of_kernel) = (taken(|| gradient(&x))?, taken(|| gradient(&w))?);
    for (name, taken) in [("forward", forward), ("input", of_input), ("kernel", of_kernel)] {
        assert!(taken < bytes * 5 / 4 + (2 << 20), "{name}: {taken} bytes, the output has {bytes}");
    }
    Ok(())
}

/// A layer's weight and bias, each with both means of Adam.
type Layer = ([Matrix<f32>; 3], [Vector<f32>; 3]);

/// One step of Adam.
fn moved<D: Dimension>([value, mean, squares]: [Tensor<f32, D>; 3], slope: Tensor<f32, D>) -> [Tensor<f32, D>; 3] {
    let mean = mean * 0.9 + &slope * 0.1;
    let squares = squares * 0.999 + &slope * &slope * 0.001;
    [value - &mean / (squares.sqrt() + 1e-8) * 1e-2, mean, squares]
}

/// A step of two layers.
fn mlp_step((layers, x, labels): ([Layer; 2], Matrix<f32>, Vector<i64>)) -> ([Layer; 2], Tensor<f32, Dim0>) {
    let weight = |k: usize| &layers[k].0[0];
    let bias = |k: usize| &layers[k].1[0];
    let hidden = x.linear(weight(0), Some(bias(0))).relu();
    let loss = hidden.linear(weight(1), Some(bias(1))).cross_entropy(&labels);
    let [w0, w1] = grad(&loss, &[weight(0), weight(1)]).expect("slopes").try_into().expect("two");
    let [b0, b1] = grad(&loss, &[bias(0), bias(1)]).expect("slopes").try_into().expect("two");
    let [first, second] = layers;
    ([(moved(first.0, w0), moved(first.1, b0)), (moved(second.0, w1), moved(second.1, b1))], loss)
}

#[test]
fn a_state_that_is_given_away_is_not_there_twice() -> Result<()> {
    let _turn = take_turn();
    const SIZES: [usize; 3] = [200, 300, 10];
    const BATCH: usize = 64;
    let start = || -> Result<[Layer; 2]> {
        let values = |shape: [usize; 2]| {
            let value = |k: usize| ((k * 7919 % 1009) as f32 - 504.0) / 5000.0;
            Tensor::from_data((0..shape[0] * shape[1]).map(value).collect(), shape)
        };
        let layer = |k: usize| -> Result<Layer> {
            let [inputs, outputs] = [SIZES[k], SIZES[k + 1]];
            let zeros = || Tensor::zeros([outputs, inputs]).realize();
            let bias = || Tensor::zeros([outputs]).realize();
            Ok(([values([outputs, inputs]), zeros()?, zeros()?], [bias()?, bias()?, bias()?]))
        };
        Ok([layer(0)?, layer(1)?])
    };
    let x = Tensor::<f32, Dim2>::rand([BATCH, SIZES[0]]).realize()?;
    let labels = Tensor::from_data((0..BATCH).map(|k| (k % SIZES[2]) as i64).collect(), [BATCH]);
    let parameters: usize = (0..2).map(|k| (SIZES[k] + 1) * SIZES[k + 1]).sum();
    let plan = compile(mlp_step).explain(&(start()?, x.clone(), labels.clone()))?;
    assert!(plan.in_place_bytes >= 3 * 4 * parameters, "{} for {parameters}", plan.in_place_bytes);

    let mut learned = Vec::new();
    for (is_given, planned) in [(false, plan.peak_bytes), (true, plan.peak_bytes - plan.in_place_bytes)] {
        let (mut taken, mut later) = (0, 0);
        // As in `check`, the first runs may take more; so may a later step, if it is the first that a thread has a hand in.
        for _ in 0..16 {
            let step = compile(mlp_step);
            let call = |layers| {
                let inputs = (layers, x.clone(), labels.clone());
                if is_given { step.call_owned(inputs) } else { step.call(&inputs) }
            };
            let layers = start()?;
            memory::trim();
            let before = LIVE.load(Relaxed);
            PEAK.store(before, Relaxed);
            let (mut layers, _) = call(layers)?;
            taken = PEAK.load(Relaxed) - before;
            for _ in 0..4 {
                (layers, _) = call(layers)?;
            }
            learned.push([layers[0].0[0].data()?, layers[1].0[0].data()?]);
            later = PEAK.load(Relaxed) - before;
            if taken == planned && (!is_given || later == taken) {
                break;
            }
        }
        assert_eq!(taken, planned, "measured, and planned, given: {is_given}");
        assert!(!is_given || later == taken, "the first step took {taken} bytes, all of them {later}");
        // What a step takes besides the state: nothing of the state's size, but what lies between, and panels.
        if is_given {
            let activations = 4 * BATCH * (2 * SIZES[1] + 2 * SIZES[2]);
            assert!(taken < 4 * parameters + activations + (128 << 10), "{taken} bytes, {parameters} parameters");
        }
    }
    assert!(learned.windows(2).all(|pair| pair[0] == pair[1]), "the same bits");
    Ok(())
}

#[test]
fn no_memory_is_an_error_and_life_goes_on() -> Result<()> {
    let _turn = take_turn();
    let before = memory::stats().live_bytes;
    let row = Tensor::<f32, Dim1>::ones([1 << 23]).realize()?;
    let huge = row.reshape([1 << 23, 1]) + &row; // 256 TiB
    let error = huge.realize().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
    assert!(error.to_string().contains("281474976710656 bytes"), "{error}");
    // Also as one of several results, and as something on the way.
    let small = &row * 2.0;
    assert!(realize_all(&[&small.to_dynamic(), &huge.to_dynamic()]).is_err());
    assert!(huge.exp().t().contiguous().realize().is_err());
    assert_eq!(small.sum_all().item()?, (1 << 24) as f32);
    drop((huge, small, row));
    assert_eq!(memory::stats().live_bytes, before, "nothing is left behind");
    Ok(())
}
