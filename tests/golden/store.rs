//! The safetensors files, each read once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use zither::{DType, DynTensor, bf16, f16};

/// The tensors of one file by name.
pub(crate) type Tensors = HashMap<String, DynTensor>;

/// Files that have been read.
pub(crate) struct Files {
    folder: PathBuf,
    read: HashMap<String, Tensors>,
}

impl Files {
    pub(crate) fn new(folder: &Path) -> Files {
        Files { folder: folder.into(), read: HashMap::new() }
    }

    pub(crate) fn get(&mut self, name: &str) -> &Tensors {
        if !self.read.contains_key(name) {
            let path = self.folder.join(name);
            let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            self.read.insert(name.to_string(), parse(&bytes));
        }
        &self.read[name]
    }
}

fn parse(bytes: &[u8]) -> Tensors {
    let file = safetensors::SafeTensors::deserialize(bytes).expect("a safetensors file");
    file.tensors().into_iter().map(|(name, view)| (name, tensor(&view))).collect()
}

fn tensor(view: &safetensors::tensor::TensorView<'_>) -> DynTensor {
    use safetensors::Dtype;
    macro_rules! read {
        ($ty:ty, $from:expr) => {{
            let size = size_of::<$ty>();
            let values: Vec<$ty> = view.data().chunks_exact(size).map(|b| $from(b.try_into().unwrap())).collect();
            DynTensor::from_data(values, view.shape())
        }};
    }
    match view.dtype() {
        Dtype::BOOL => read!(bool, |b: [u8; 1]| b[0] != 0),
        Dtype::U8 => read!(u8, u8::from_le_bytes),
        Dtype::I8 => read!(i8, i8::from_le_bytes),
        Dtype::I16 => read!(i16, i16::from_le_bytes),
        Dtype::I32 => read!(i32, i32::from_le_bytes),
        Dtype::I64 => read!(i64, i64::from_le_bytes),
        Dtype::F16 => read!(f16, f16::from_le_bytes),
        Dtype::BF16 => read!(bf16, bf16::from_le_bytes),
        Dtype::F32 => read!(f32, f32::from_le_bytes),
        Dtype::F64 => read!(f64, f64::from_le_bytes),
        other => panic!("dtype {other:?} is not in the golden set"),
    }
}

/// The dtype a manifest names.
pub(crate) fn dtype(name: &str) -> DType {
    *DType::ALL.iter().find(|dtype| dtype.name() == name).unwrap_or_else(|| panic!("dtype {name}"))
}
