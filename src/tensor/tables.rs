//! Tables of methods: one row makes an op's method on `Tensor` and on `DynTensor`, with its example.

/// An example that runs: an expression of `Tensor`, and the numbers it gives.
macro_rules! example {
    ($call:literal, $gives:literal) => {
        concat!(
            "\n```\n# use zither::Tensor;\nlet y = ",
            $call,
            ";\nassert_eq!(y.data()?, ",
            $gives,
            ");\n# Ok::<(), zither::Error>(())\n```"
        )
    };
}

/// An example that runs: a method of a tensor of these numbers, and the numbers it gives.
macro_rules! applied {
    ($numbers:literal, $name:ident($arguments:literal), $gives:literal) => {
        concat!(
            "\n```\n# use zither::Tensor;\nlet x = Tensor::new(",
            $numbers,
            ");\nassert_eq!(x.",
            stringify!($name),
            "(",
            $arguments,
            ").data()?, ",
            $gives,
            ");\n# Ok::<(), zither::Error>(())\n```"
        )
    };
}

/// An example that runs: a method of a tensor of ones of a shape, and the shape of what it gives.
macro_rules! shaped {
    ($uses:literal, $shape:literal, $name:ident($($arguments:expr),*), $gives:literal) => {
        concat!(
            "\n```\nuse zither::{",
            $uses,
            "};\nlet x = Tensor::<f32, _>::ones(",
            $shape,
            ");\nassert_eq!(x.",
            stringify!($name),
            "(",
            $($arguments,)*
            ").shape(), ",
            $gives,
            ");\n```"
        )
    };
}

/// What a dynamic tensor's method says: the typed one has the example.
macro_rules! as_typed {
    ($doc:expr, $name:ident) => {
        concat!($doc, "\n\nSee [`Tensor::", stringify!($name), "`](crate::Tensor::", stringify!($name), ").")
    };
}

/// Functions of one tensor and some numbers. The first block of rows cannot fail on a typed tensor; those marked `try` can.
///
/// A row: name and `try_` twin, arguments, dtype of the result, what it does, an example and its numbers, the function.
macro_rules! functions {
    ($($bound:ident { $(
        $name:ident $try_name:ident($($arg:ident: $ty:ty),*) -> $out:ty, $doc:literal, $call:literal => $gives:literal, $f:expr;
    )* })*) => {$(
        impl<T: $bound, D: Dimension> Tensor<T, D> {
            twins! {$(
                #[doc = $doc]
                #[doc = example!($call, $gives)]
                fn $name $try_name(&self $(, $arg: $ty)*) -> Tensor<$out, D> {
                    Ok(Tensor::wrap($f(self.node() $(, $arg)*)?))
                }
            )*}
        }

        impl DynTensor {
            twins! {$(
                #[doc = as_typed!($doc, $name)]
                fn $name $try_name(&self $(, $arg: $ty)*) -> DynTensor {
                    Ok(DynTensor::wrap($f(self.node() $(, $arg)*)?))
                }
            )*}
        }
    )*};
}

/// Functions of a tensor and a tensor or a number beside it, which broadcast.
macro_rules! functions_of_two {
    ($($bound:ident { $(
        $name:ident $try_name:ident, $doc:literal, $call:literal => $gives:literal, $f:expr;
    )* })*) => {$(
        impl<T: $bound, D: Dimension> Tensor<T, D> {$(
            #[doc = $doc]
            #[doc = example!($call, $gives)]
            #[track_caller]
            pub fn $name<O: Operand<T>>(&self, other: O) -> Tensor<T, <D as BroadcastWith<O::Dim>>::Output>
            where
                D: BroadcastWith<O::Dim>,
            {
                $crate::error::OrRaise::or_raise(self.$try_name(other))
            }

            #[doc = concat!("As [`", stringify!($name), "`](Self::", stringify!($name), "), with an error in place of a panic.")]
            #[track_caller]
            pub fn $try_name<O: Operand<T>>(&self, other: O) -> $crate::error::Result<Tensor<T, <D as BroadcastWith<O::Dim>>::Output>>
            where
                D: BroadcastWith<O::Dim>,
            {
                let other = other.operand(&Beside(self.node()))?;
                Ok(Tensor::wrap($f(self.node(), &other.0)?))
            }
        )*}

        impl DynTensor {
            twins! {$(
                #[doc = as_typed!($doc, $name)]
                fn $name $try_name[O: DynOperand](&self, other: O) -> DynTensor {
                    let other = other.operand(stringify!($name), &Beside(self.node()))?;
                    Ok(DynTensor::wrap($f(self.node(), &other.0)?))
                }
            )*}
        }
    )*};
}

pub(super) use {applied, as_typed, example, functions, functions_of_two, shaped};
