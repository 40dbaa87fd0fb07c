//! Reads handwritten digits: a small network, trained with automatic differentiation alone.
//!
//! ```text
//! cargo run --release --example digits             # 20 passes over the data
//! cargo run --release --example digits -- --quick  # 3 passes, for checks (or ZITHER_QUICK=1)
//! ```
//!
//! There is no layer and no optimiser here, only tensors: two linear maps with a `relu` between them, a cross-entropy
//! loss, its gradients, and a step with momentum against them. The same seed gives the same numbers on any machine.
//!
//! Data: Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, CC BY 4.0. The file holds the
//! 1,797 images of its test part, one a line: 8×8 values from 0 to 16, then the digit.

use std::error::Error;
use std::io::Read;
use zither::{Dim1, Dim2, Dimension, DynTensor, Gradients, Matrix, Tensor, Var, Vector};
use zither::{manual_seed, no_grad, realize_all};

const DIGITS: &[u8] = include_bytes!("data/digits.csv.gz");
const SIDE: usize = 8;
const PIXELS: usize = SIDE * SIDE;
const CLASSES: usize = 10;

const TRAIN: usize = 1437; // the other 360 images are for the test
const BATCH: usize = 32;
const HIDDEN: usize = 48;
const RATE: f32 = 0.05;
const MOMENTUM: f32 = 0.9;

fn main() -> Result<(), Box<dyn Error>> {
    let quick = std::env::args().any(|arg| arg == "--quick") || std::env::var_os("ZITHER_QUICK").is_some();
    let (epochs, expected) = if quick { (3, 0.85) } else { (20, 0.95) };

    manual_seed(1);
    let (train, test) = Digits::read()?.shuffled()?.split(TRAIN);
    let mut network = Network::new();
    println!("{} digits to learn from, {} to test on, {} weights", train.len(), test.len(), network.len());

    for epoch in 1..=epochs {
        let loss = train_once(&mut network, &train)?;
        let accuracy = accuracy(&network, &test)?;
        println!("epoch {epoch:2}: loss {loss:.4}, {:.1} % of the test digits right", 100.0 * accuracy);
    }

    let predicted = network.predict(&test.images);
    draw(&test, &predicted)?;
    println!("\nhow often a digit (row) was read as another (column):\n{}", confusion(&test.labels, &predicted));

    let accuracy = accuracy(&network, &test)?;
    println!("\ntest accuracy: {accuracy:.4}");
    assert!(accuracy >= expected, "expected at least {expected}");
    Ok(())
}

/// One pass over the images in batches, in a new order. Gives the mean loss.
fn train_once(network: &mut Network, train: &Digits) -> zither::Result<f32> {
    let shuffled = train.shuffled()?;
    let mut losses = Vec::new();
    for start in (0..train.len()).step_by(BATCH) {
        let batch = shuffled.part(start, BATCH.min(train.len() - start));
        // Nothing runs in these three lines: they only say what is wanted.
        let loss = network.forward(&batch.images).cross_entropy(&batch.labels);
        let gradients = loss.backward();
        network.step(&gradients);
        // Here it runs, as one request: what loss and gradients have in common is computed once.
        let mut wanted = network.state();
        wanted.push(loss.to_dynamic());
        realize_all(&wanted.iter().collect::<Vec<_>>())?;
        losses.push(loss.item()?);
    }
    Tensor::new(losses).mean_all().item()
}

/// The part of the digits that the network reads correctly.
fn accuracy(network: &Network, digits: &Digits) -> zither::Result<f32> {
    let right: Vector = network.predict(&digits.images).eq(&digits.labels).cast();
    right.mean_all().item()
}

/// Two linear maps with a `relu` between them: 64 pixels, some hidden numbers, a score for each of 10 digits.
struct Network {
    weight1: Parameter<Dim2>,
    bias1: Parameter<Dim1>,
    weight2: Parameter<Dim2>,
    bias2: Parameter<Dim1>,
}

impl Network {
    /// A network with small random weights. They are drawn so that numbers keep their size on the way through.
    fn new() -> Network {
        let weight = |rows: usize, cols: usize| Tensor::randn([rows, cols]) * (2.0 / cols as f32).sqrt();
        Network {
            weight1: Parameter::new(weight(HIDDEN, PIXELS)),
            bias1: Parameter::new(Tensor::zeros([HIDDEN])),
            weight2: Parameter::new(weight(CLASSES, HIDDEN)),
            bias2: Parameter::new(Tensor::zeros([CLASSES])),
        }
    }

    /// From images `[n, 64]` to scores `[n, 10]`.
    fn forward(&self, images: &Matrix) -> Matrix {
        let hidden = images.linear(&self.weight1.get(), Some(&self.bias1.get())).relu();
        hidden.linear(&self.weight2.get(), Some(&self.bias2.get()))
    }

    /// The digit with the highest score, for each image.
    fn predict(&self, images: &Matrix) -> Vector<i64> {
        no_grad(|| self.forward(images)).argmax(1)
    }

    /// Every parameter, one step against its gradient.
    fn step(&mut self, gradients: &Gradients) {
        self.weight1.step(gradients);
        self.bias1.step(gradients);
        self.weight2.step(gradients);
        self.bias2.step(gradients);
    }

    /// All tensors that last from one step to the next.
    fn state(&self) -> Vec<DynTensor> {
        let parts = [self.weight1.state(), self.bias1.state(), self.weight2.state(), self.bias2.state()];
        parts.into_iter().flatten().collect()
    }

    /// The number of weights.
    fn len(&self) -> usize {
        self.weight1.get().len() + self.bias1.get().len() + self.weight2.get().len() + self.bias2.get().len()
    }
}

/// What is learned: a variable, and how fast it moves.
struct Parameter<D: Dimension> {
    value: Var<f32, D>,
    velocity: Tensor<f32, D>,
}

// The bound says that two tensors of rank `D` make one of rank `D`.
impl<D: Dimension> Parameter<D> {
    fn new(start: Tensor<f32, D>) -> Parameter<D> {
        Parameter { velocity: start.zeros_like(), value: Var::new(start) }
    }

    fn get(&self) -> Tensor<f32, D> {
        self.value.get()
    }

    /// A step with momentum: the velocity takes in the gradient, the value follows the velocity.
    fn step(&mut self, gradients: &Gradients) {
        let value = self.get();
        let gradient = gradients.get(&value).expect("the loss depends on every parameter");
        // The step itself is nothing to differentiate.
        no_grad(|| {
            self.velocity = &self.velocity * MOMENTUM + gradient;
            self.value.set(&(value - &self.velocity * RATE));
        });
    }

    fn state(&self) -> [DynTensor; 2] {
        [self.get().to_dynamic(), self.velocity.to_dynamic()]
    }
}

/// Images and what they show.
struct Digits {
    /// `[n, 64]`, from 0 (paper) to 1 (ink).
    images: Matrix,
    /// `[n]`, from 0 to 9.
    labels: Vector<i64>,
}

impl Digits {
    /// The images in this program.
    fn read() -> Result<Digits, Box<dyn Error>> {
        let mut text = String::new();
        flate2::read::GzDecoder::new(DIGITS).read_to_string(&mut text)?;
        let rows = text.lines().map(|line| line.split(',').map(str::parse).collect());
        let table = Tensor::try_new(rows.collect::<Result<Vec<Vec<i64>>, _>>()?)?;
        let images: Matrix = table.i((.., ..PIXELS)).cast();
        Ok(Digits { images: images / 16.0, labels: table.i((.., PIXELS)) })
    }

    /// The number of images.
    fn len(&self) -> usize {
        self.labels.len()
    }

    /// The same images in a random order.
    fn shuffled(&self) -> zither::Result<Digits> {
        let keys = Tensor::<f32, Dim1>::rand([self.len()]).data()?;
        let mut order: Vec<i64> = (0..self.len() as i64).collect();
        order.sort_by(|&a, &b| keys[a as usize].total_cmp(&keys[b as usize]));
        let order = Tensor::new(order);
        Ok(Digits {
            images: self.images.index_select(0, &order).realize()?,
            labels: self.labels.index_select(0, &order).realize()?,
        })
    }

    /// `len` images from `start`: a view, nothing is copied.
    fn part(&self, start: usize, len: usize) -> Digits {
        Digits { images: self.images.narrow(0, start, len), labels: self.labels.narrow(0, start, len) }
    }

    /// The first `count` images, and the rest.
    fn split(&self, count: usize) -> (Digits, Digits) {
        (self.part(0, count), self.part(count, self.len() - count))
    }
}

/// Entry `[a, b]` says how many digits `a` were read as `b`.
fn confusion(labels: &Vector<i64>, predicted: &Vector<i64>) -> Matrix<i64> {
    let classes = Tensor::<i64, Dim1>::arange(0, CLASSES as i64);
    // `[n, 1]` against `[10]` broadcasts to `[n, 10]`: a 1 where the digit is of the class, 0 elsewhere.
    let one_hot = |digits: &Vector<i64>| -> Matrix<i64> { digits.unsqueeze(1).eq(&classes).cast() };
    one_hot(labels).t().matmul(&one_hot(predicted))
}

/// A few digits in the terminal, those that were read wrongly first.
fn draw(test: &Digits, predicted: &Vector<i64>) -> zither::Result<()> {
    const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
    const COUNT: usize = 6;
    let (labels, predicted) = (test.labels.data()?, predicted.data()?);
    let (wrong, right): (Vec<usize>, Vec<usize>) = (0..test.len()).partition(|&k| labels[k] != predicted[k]);
    println!("\n{} of {} test digits were read wrongly. Some of them, then some others:", wrong.len(), test.len());
    let chosen: Vec<usize> = wrong.into_iter().take(COUNT / 2).chain(right).take(COUNT).collect();

    let images = test.images.to_vec2()?;
    for row in 0..SIDE {
        for &k in &chosen {
            for &ink in &images[k][row * SIDE..(row + 1) * SIDE] {
                let shade = SHADES[(ink * 4.0).round() as usize];
                print!("{shade}{shade}"); // a character is about twice as high as wide
            }
            print!("   ");
        }
        println!();
    }
    for &k in &chosen {
        let caption = format!("is {}, read as {}", labels[k], predicted[k]);
        print!("{caption:19}");
    }
    println!();
    Ok(())
}
