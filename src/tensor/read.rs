//! Reading: here wishes become numbers.

use super::{Dim1, Dim2, Dim3, Dim4, Dimension, DynTensor, Tensor};
use crate::dtype::{Literal, TensorDType};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{self, Node};
use crate::reference;
use crate::runtime::{self, Explanation};

/// Executes several tensors as one request, so that what they share is computed once.
///
/// ```
/// # use zither::Tensor;
/// let x = Tensor::new([1.0f32]).exp();
/// let (a, b) = ((&x + 1.0).to_dynamic(), (&x * 2.0).to_dynamic());
/// zither::realize_all(&[&a, &b])?; // one exponential
/// # Ok::<(), zither::Error>(())
/// ```
pub fn realize_all(tensors: &[&DynTensor]) -> Result<()> {
    let nodes: Vec<Node> = tensors.iter().map(|tensor| tensor.node().clone()).collect();
    runtime::execute(&nodes)
}

/// The elements of a node in row-major order.
fn elements<T: TensorDType>(node: &Node) -> Result<Vec<T>> {
    runtime::read(node)?.to_vec("data")
}

/// The one element of a node.
fn single<T: TensorDType>(node: &Node) -> Result<T> {
    if node.len() != 1 {
        let message = format!("shape {:?} has {} elements, not one", node.shape(), node.len());
        return Err(Error::new(ErrorKind::Shape, "item", message).made_at("tensor", node.at()));
    }
    Ok(elements(node)?[0])
}

/// The graph behind `node` with inputs replaced by name.
fn with_inputs(node: &Node, given: &[(&str, &DynTensor)]) -> Result<Node> {
    for (name, value) in given {
        check_input(node, name, value)?;
    }
    let find = |candidate: &Node| {
        let name = candidate.name()?;
        given.iter().find(|(given, _)| *given == name).map(|(_, value)| value.node().clone())
    };
    Ok(graph::replace(std::slice::from_ref(node), find)?.remove(0))
}

/// An error unless an input of that name exists and the value fits it.
fn check_input(node: &Node, name: &str, value: &DynTensor) -> Result<()> {
    let inputs = graph::topological(std::slice::from_ref(node), Node::inputs);
    let mut found = false;
    for input in inputs.iter().filter(|input| input.name() == Some(name)) {
        found = true;
        if input.shape() != value.shape() || input.dtype() != value.dtype() {
            let message = format!(
                "\"{name}\" is {} of shape {:?}, but was given {} of shape {:?}",
                input.dtype(),
                input.shape(),
                value.dtype(),
                value.shape()
            );
            return Err(Error::new(ErrorKind::Input, "realize_with", message).operands(input.at(), value.node().at()));
        }
    }
    if found {
        return Ok(());
    }
    let mut names: Vec<&str> = inputs.iter().filter_map(Node::name).collect();
    names.dedup();
    let message = format!("there is no input \"{name}\"; the inputs are {names:?}");
    Err(Error::new(ErrorKind::Input, "realize_with", message).made_at("tensor", node.at()))
}

impl<T: TensorDType, D: Dimension> Tensor<T, D> {
    /// Executes what the tensor needs, so that its numbers are there. Gives the tensor back.
    ///
    /// ```
    /// # use zither::Tensor;
    /// let x = (Tensor::new([1.0f32]) * 2.0).realize()?;
    /// assert!(x.is_realized());
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn realize(&self) -> Result<Tensor<T, D>> {
        runtime::execute(std::slice::from_ref(self.node()))?;
        Ok(self.clone())
    }

    /// The tensor with its [`input`](Tensor::input)s given by name, executed.
    ///
    /// ```
    /// use zither::{Dim1, Tensor};
    /// let x = Tensor::<f32, Dim1>::input("x", [2]);
    /// let y = &x * 2.0;
    /// let data = Tensor::new([1.0f32, 2.0]).to_dynamic();
    /// assert_eq!(y.realize_with(&[("x", &data)])?.data()?, [2.0, 4.0]);
    /// assert!(y.data().is_err()); // "x" was not given
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn realize_with(&self, inputs: &[(&str, &DynTensor)]) -> Result<Tensor<T, D>> {
        Tensor::<T, D>::wrap(with_inputs(self.node(), inputs)?).realize()
    }

    /// Whether the numbers are there already.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert!(!(Tensor::new([1.0f32]) * 2.0).is_realized());
    /// ```
    pub fn is_realized(&self) -> bool {
        self.node().is_realized()
    }

    /// The elements in row-major order.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!((Tensor::new([[1, 2], [3, 4]]) * 2).data()?, [2, 4, 6, 8]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn data(&self) -> Result<Vec<T>> {
        elements(self.node())
    }

    /// The one element of a tensor that has one.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([1, 2, 3]).sum_all().item()?, 6);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn item(&self) -> Result<T> {
        single(self.node())
    }

    /// The one element of a tensor that has one: another name for [`item`](Self::item).
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([1, 2, 3]).sum_all().to_scalar()?, 6);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn to_scalar(&self) -> Result<T> {
        self.item()
    }

    /// The elements one after the other, in row-major order.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([1, 2, 3]).iter()?.max(), Some(3));
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn iter(&self) -> Result<std::vec::IntoIter<T>> {
        Ok(self.data()?.into_iter())
    }

    /// The loop programs that reading this tensor would run, as text. Nothing is executed.
    ///
    /// ```
    /// use zither::{Dim1, Tensor};
    /// let a = Tensor::<f32, Dim1>::input("a", [4]);
    /// let text = (&a + &a).sum_all().lowered()?;
    /// assert!(text.contains("acc = sum(acc, v"));
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn lowered(&self) -> Result<String> {
        Ok(runtime::lowered(self.node()))
    }

    /// What reading this tensor would run, and what that costs. Nothing is executed.
    ///
    /// ```
    /// use zither::{Dim2, Tensor};
    /// let x = Tensor::<f32, Dim2>::input("x", [64, 128]);
    /// let plan = x.softmax(1).explain();
    /// assert_eq!(plan.kernels, 1);
    /// assert_eq!(plan.bytes_moved, 2 * 64 * 128 * 4); // each element is read once and written once
    /// println!("{plan}"); // every stage with its loops
    /// ```
    pub fn explain(&self) -> Explanation {
        runtime::explain(self.node())
    }

    /// The graph behind the tensor as text, one line a node. Nothing is executed.
    ///
    /// ```
    /// # use zither::Tensor;
    /// let text = (Tensor::new([1.0f32]) * 2.0).graph();
    /// assert!(text.contains("mul"));
    /// ```
    pub fn graph(&self) -> String {
        graph::listing(std::slice::from_ref(self.node()))
    }
}

/// Rows out of a flat list. Rows without elements may be more than memory holds.
fn rows<T: Clone>(op: &str, flat: Vec<T>, count: &[usize], len: usize) -> Result<Vec<Vec<T>>> {
    let count = count.iter().try_fold(1_usize, |product, &size| product.checked_mul(size));
    let mut rows = Vec::new();
    if count.is_none_or(|count| rows.try_reserve_exact(count).is_err()) {
        return Err(Error::new(ErrorKind::Memory, op, "there are more rows than memory can hold"));
    }
    rows.extend((0..count.unwrap_or(0)).map(|row| flat[row * len..(row + 1) * len].to_vec()));
    Ok(rows)
}

impl<T: TensorDType> Tensor<T, Dim1> {
    /// The elements.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([1, 2]).to_vec1()?, [1, 2]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn to_vec1(&self) -> Result<Vec<T>> {
        self.data()
    }
}

impl<T: TensorDType> Tensor<T, Dim2> {
    /// The elements, row by row.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([[1, 2], [3, 4]]).to_vec2()?, [[1, 2], [3, 4]]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn to_vec2(&self) -> Result<Vec<Vec<T>>> {
        let [a, b] = [self.shape()[0], self.shape()[1]];
        rows("to_vec2", self.data()?, &[a], b)
    }
}

impl<T: TensorDType> Tensor<T, Dim3> {
    /// The elements, matrix by matrix.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([[[1], [2]]]).to_vec3()?, [[[1], [2]]]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn to_vec3(&self) -> Result<Vec<Vec<Vec<T>>>> {
        let [a, b, c] = [self.shape()[0], self.shape()[1], self.shape()[2]];
        rows("to_vec3", rows("to_vec3", self.data()?, &[a, b], c)?, &[a], b)
    }
}

impl<T: TensorDType> Tensor<T, Dim4> {
    /// The elements, nested as the axes are.
    ///
    /// ```
    /// # use zither::Tensor;
    /// assert_eq!(Tensor::new([[[[1], [2]]]]).to_vec4()?, [[[[1], [2]]]]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn to_vec4(&self) -> Result<Vec<Vec<Vec<Vec<T>>>>> {
        let [a, b, c, d] = [self.shape()[0], self.shape()[1], self.shape()[2], self.shape()[3]];
        let op = "to_vec4";
        rows(op, rows(op, rows(op, self.data()?, &[a, b, c], d)?, &[a, b], c)?, &[a], b)
    }
}

impl DynTensor {
    /// Executes what the tensor needs, so that its numbers are there. Gives the tensor back.
    ///
    /// See [`Tensor::realize`](crate::Tensor::realize).
    #[track_caller]
    pub fn realize(&self) -> Result<DynTensor> {
        runtime::execute(std::slice::from_ref(self.node()))?;
        Ok(self.clone())
    }

    /// The tensor with its inputs given by name, executed.
    ///
    /// See [`Tensor::realize_with`](crate::Tensor::realize_with).
    #[track_caller]
    pub fn realize_with(&self, inputs: &[(&str, &DynTensor)]) -> Result<DynTensor> {
        DynTensor::wrap(with_inputs(self.node(), inputs)?).realize()
    }

    /// The elements in row-major order. The dtype must be `T`'s.
    ///
    /// ```
    /// # use zither::DynTensor;
    /// let x = DynTensor::from_data(vec![1.0f32, 2.0], &[2]);
    /// assert_eq!((&x * 2.0).data::<f32>()?, [2.0, 4.0]);
    /// assert!(x.data::<i32>().is_err());
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn data<T: TensorDType>(&self) -> Result<Vec<T>> {
        if self.dtype() != T::DTYPE {
            let message = format!("expected {}, got {}: cast it first", T::DTYPE, self.dtype());
            return Err(Error::new(ErrorKind::DType, "data", message).made_at("tensor", self.node().at()));
        }
        elements(self.node())
    }

    /// The elements with their dtype, in row-major order.
    ///
    /// ```
    /// use zither::{DynTensor, Literal};
    /// let x = DynTensor::from_data(vec![1i8, 2], &[2]);
    /// assert_eq!(x.literals()?, [Literal::I8(1), Literal::I8(2)]);
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn literals(&self) -> Result<Vec<Literal>> {
        let buffer = runtime::read(self.node())?;
        Ok((0..buffer.len()).map(|k| buffer.literal(k)).collect())
    }

    /// The one element of a tensor that has one, with its dtype.
    ///
    /// ```
    /// use zither::{DynTensor, Literal};
    /// assert_eq!(DynTensor::from_data(vec![7u8], &[1]).item()?, Literal::U8(7));
    /// # Ok::<(), zither::Error>(())
    /// ```
    #[track_caller]
    pub fn item(&self) -> Result<Literal> {
        crate::dtype::with_dtype!(self.dtype(), T => single::<T>(self.node()).map(TensorDType::literal))
    }

    /// The elements by the reference evaluator: one at a time, by each op's definition. Slow, and the judge of every
    /// fast path: when [`literals`](Self::literals) disagrees by more than rounding, this is right.
    ///
    /// ```
    /// # use zither::DynTensor;
    /// let x = DynTensor::from_data(vec![1.0f32, 2.0], &[2]);
    /// assert_eq!((&x * 2.0).reference()?, (&x * 2.0).literals()?);
    /// # Ok::<(), zither::Error>(())
    /// ```
    pub fn reference(&self) -> Result<Vec<Literal>> {
        reference::evaluate(self.node())
    }

    /// The loop programs that reading this tensor would run, as text. Nothing is executed.
    ///
    /// See [`Tensor::lowered`](crate::Tensor::lowered).
    #[track_caller]
    pub fn lowered(&self) -> Result<String> {
        Ok(runtime::lowered(self.node()))
    }

    /// What reading this tensor would run, and what that costs. Nothing is executed.
    ///
    /// ```
    /// use zither::{Dim2, Tensor};
    /// let x = Tensor::<f32, Dim2>::input("x", [64, 128]);
    /// let plan = x.softmax(1).explain();
    /// assert_eq!(plan.kernels, 1);
    /// assert_eq!(plan.bytes_moved, 2 * 64 * 128 * 4); // each element is read once and written once
    /// println!("{plan}"); // every stage with its loops
    /// ```
    pub fn explain(&self) -> Explanation {
        runtime::explain(self.node())
    }

    /// The graph behind the tensor as text, one line a node. Nothing is executed.
    ///
    /// See [`Tensor::graph`](crate::Tensor::graph).
    pub fn graph(&self) -> String {
        graph::listing(std::slice::from_ref(self.node()))
    }
}
