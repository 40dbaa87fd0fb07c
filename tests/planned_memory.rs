//! A plan knows the most memory it will take, and what is not to be had is an error.
//!
//! Bytes are counted in this process, so the tests that count them take turns.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use zither::{AttentionOptions, Dim1, Dim2, Dim4, ErrorKind, Result, Tensor, Window, grad, memory, realize_all};

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
