//! A parser for `torch.save` pickles that never runs their code.
//!
//! A pickle is a program for a stack machine, which can name and call any Python object. This machine supports only the opcodes of
//! protocol 2 needed for tensors and the globals in [`Global`], none of which it calls; anything else is an error. Values are indices into
//! flat lists, so deep nesting and repeated references cost no more than their size in the file.

use std::collections::HashMap;

use safetensors::Dtype;

use base::text::shortened;

/// Maximum size of a pickle in bytes. A pickle only describes tensors; their values are stored elsewhere in the file.
pub(super) const LARGEST: usize = 16 << 20;

#[derive(Debug, PartialEq)]
pub(super) enum Fault {
    /// The pickle names a global that tensors do not need.
    Global(String),
    Damaged(String),
}

impl From<&str> for Fault {
    fn from(what: &str) -> Fault {
        Fault::Damaged(what.to_owned())
    }
}

impl From<String> for Fault {
    fn from(what: String) -> Fault {
        Fault::Damaged(what)
    }
}

type Result<T> = std::result::Result<T, Fault>;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Global {
    /// `torch._utils._rebuild_tensor_v2`.
    Tensor,
    /// `torch._utils._rebuild_parameter`.
    Parameter,
    /// `collections.OrderedDict`.
    OrderedDict,
    /// `argparse.Namespace`: the settings in fairseq checkpoints, which are skipped.
    Namespace,
    /// `torch.FloatStorage` and similar.
    Storage(Dtype),
}

impl Global {
    fn parse(module: &str, name: &str) -> Option<Global> {
        let dtype = match (module, name) {
            ("torch._utils", "_rebuild_tensor_v2") => return Some(Global::Tensor),
            ("torch._utils", "_rebuild_parameter") => return Some(Global::Parameter),
            ("collections", "OrderedDict") => return Some(Global::OrderedDict),
            ("argparse", "Namespace") => return Some(Global::Namespace),
            ("torch", "FloatStorage") => Dtype::F32,
            ("torch", "HalfStorage") => Dtype::F16,
            ("torch", "BFloat16Storage") => Dtype::BF16,
            ("torch", "DoubleStorage") => Dtype::F64,
            ("torch", "LongStorage") => Dtype::I64,
            ("torch", "IntStorage") => Dtype::I32,
            ("torch", "ShortStorage") => Dtype::I16,
            ("torch", "CharStorage") => Dtype::I8,
            ("torch", "ByteStorage") => Dtype::U8,
            ("torch", "BoolStorage") => Dtype::BOOL,
            _ => return None,
        };
        Some(Global::Storage(dtype))
    }
}

/// A value on the stack; `usize` values are indices into the lists of [`Pickle`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    /// A float, a long integer or a namespace, which tensors do not need.
    Other,
    Text(usize),
    Global(Global),
    /// A tuple or a list.
    Items(usize),
    Dict(usize),
    Storage(usize),
    Tensor(usize),
}

/// A contiguous run of values of one type in the file.
#[derive(Debug, PartialEq)]
pub(super) struct Storage {
    pub(super) key: String,
    pub(super) dtype: Dtype,
    pub(super) len: usize,
}

/// A tensor as a view of a storage. Every index that it can form is inside the storage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct View {
    pub(super) storage: usize,
    /// Offset in elements.
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    /// Strides in elements.
    pub(super) stride: Vec<usize>,
}

impl View {
    pub(super) fn len(&self) -> usize {
        self.shape.iter().product()
    }
}

#[derive(Debug, Default)]
pub(super) struct Pickle {
    pub(super) texts: Vec<String>,
    pub(super) items: Vec<Vec<Value>>,
    pub(super) dicts: Vec<Vec<(Value, Value)>>,
    pub(super) storages: Vec<Storage>,
    pub(super) tensors: Vec<View>,
    keys: HashMap<String, usize>,
    stack: Vec<Value>,
    /// Stack heights at open marks.
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
}

/// Remaining bytes.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or("its pickle is truncated")?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or("its pickle is truncated")?;
        self.0 = rest;
        Ok(*taken)
    }

    fn byte(&mut self) -> Result<u8> {
        self.array::<1>().map(|[b]| b)
    }

    fn line(&mut self) -> Result<&'a str> {
        let end = self.0.iter().position(|&b| b == b'\n').ok_or("its pickle is truncated")?;
        let line = self.take(end)?;
        self.byte()?;
        std::str::from_utf8(line).map_err(|_| "its pickle has a global whose name is not text".into())
    }
}

impl Pickle {
    pub(super) fn storage_of(&self, key: &str) -> Option<usize> {
        self.keys.get(key).copied()
    }

    /// Parses the pickle at the start of `bytes`; returns the pickle, its value and its length.
    pub(super) fn read(bytes: &[u8]) -> Result<(Pickle, Value, usize)> {
        let mut input = Input(&bytes[..bytes.len().min(LARGEST)]);
        let all = input.0.len();
        let mut pickle = Pickle::default();
        loop {
            let opcode = match input.byte() {
                Err(_) if all == LARGEST => return Err(format!("its pickle is longer than {LARGEST} bytes").into()),
                opcode => opcode?,
            };
            if opcode == b'.' {
                let value = pickle.pop()?;
                return Ok((pickle, value, all - input.0.len()));
            }
            pickle.step(opcode, &mut input)?;
        }
    }

    fn step(&mut self, opcode: u8, input: &mut Input<'_>) -> Result<()> {
        let value = match opcode {
            0x80 => match input.byte()? {
                0..=2 => return Ok(()),
                newer => return Err(format!("its pickle has protocol {newer}; torch.save writes 2").into()),
            },
            b'(' => {
                self.marks.push(self.stack.len());
                return Ok(());
            }
            b'q' => return self.remember(input.byte()?.into()),
            b'r' => return self.remember(u32::from_le_bytes(input.array()?)),
            b'h' => self.recall(input.byte()?.into())?,
            b'j' => self.recall(u32::from_le_bytes(input.array()?))?,
            b'c' => global(input.line()?, input.line()?)?,
            // Python 2 writes `U` and `T`.
            b'U' => {
                let length = input.byte()?.into();
                self.text(input.take(length)?)?
            }
            b'X' | b'T' => {
                let length = u32::from_le_bytes(input.array()?) as usize;
                self.text(input.take(length)?)?
            }
            b'J' => Value::Int(i32::from_le_bytes(input.array()?).into()),
            b'K' => Value::Int(input.byte()?.into()),
            b'M' => Value::Int(u16::from_le_bytes(input.array()?).into()),
            0x8a => {
                let length = input.byte()?.into();
                long(input.take(length)?)
            }
            b'G' => input.array::<8>().map(|_| Value::Other)?,
            b'N' => Value::None,
            0x88 => Value::Bool(true),
            0x89 => Value::Bool(false),
            b')' | b']' => self.new_items(Vec::new()),
            b't' => {
                let items = self.pop_to_mark()?;
                self.new_items(items)
            }
            0x85..=0x87 => {
                let count = usize::from(opcode - 0x84);
                let mut items = (0..count).map(|_| self.pop()).collect::<Result<Vec<_>>>()?;
                items.reverse();
                self.new_items(items)
            }
            b'}' => self.new_dict(),
            b'a' => {
                let item = self.pop()?;
                return self.append(vec![item]);
            }
            b'e' => {
                let items = self.pop_to_mark()?;
                return self.append(items);
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                return self.set(&[key, value]);
            }
            b'u' => {
                let items = self.pop_to_mark()?;
                return self.set(&items);
            }
            b'Q' => {
                let id = self.pop()?;
                self.storage(id)?
            }
            b'R' | 0x81 => {
                let (args, callable) = (self.pop()?, self.pop()?);
                self.build_object(callable, args)?
            }
            b'b' => return self.skip_state(),
            other => return Err(format!("its pickle contains opcode {other:#04x}, which tensors do not need").into()),
        };
        self.stack.push(value);
        Ok(())
    }

    /// Skips attributes, such as the `_metadata` of a state dict, which do not affect tensors.
    fn skip_state(&mut self) -> Result<()> {
        self.pop()?;
        match self.top()? {
            Value::Dict(_) | Value::Other => Ok(()),
            _ => Err("its pickle sets the state of an object that is neither a dict nor a namespace".into()),
        }
    }

    fn text(&mut self, bytes: &[u8]) -> Result<Value> {
        let text = std::str::from_utf8(bytes).map_err(|_| "its pickle contains text that is not UTF-8")?;
        self.texts.push(text.to_owned());
        Ok(Value::Text(self.texts.len() - 1))
    }

    /// Pops a value, but never from below an open mark.
    fn pop(&mut self) -> Result<Value> {
        self.top()?;
        self.stack.pop().ok_or_else(|| "its pickle is damaged".into())
    }

    fn top(&self) -> Result<Value> {
        let floor = self.marks.last().copied().unwrap_or(0);
        self.stack[floor..].last().copied().ok_or_else(|| "its pickle reads from an empty stack".into())
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Value>> {
        let mark = self.marks.pop().ok_or("its pickle closes a list or tuple that it has not opened")?;
        Ok(self.stack.split_off(mark))
    }

    fn remember(&mut self, slot: u32) -> Result<()> {
        let value = self.top()?;
        self.memo.insert(slot, value);
        Ok(())
    }

    fn recall(&self, slot: u32) -> Result<Value> {
        self.memo.get(&slot).copied().ok_or_else(|| "its pickle refers to a missing object".into())
    }

    fn new_items(&mut self, items: Vec<Value>) -> Value {
        self.items.push(items);
        Value::Items(self.items.len() - 1)
    }

    fn new_dict(&mut self) -> Value {
        self.dicts.push(Vec::new());
        Value::Dict(self.dicts.len() - 1)
    }

    fn append(&mut self, items: Vec<Value>) -> Result<()> {
        match self.top()? {
            Value::Items(list) => self.items[list].extend(items),
            _ => return Err("its pickle appends to an object that is not a list".into()),
        }
        Ok(())
    }

    fn set(&mut self, flat: &[Value]) -> Result<()> {
        match self.top()? {
            Value::Dict(dict) if flat.len().is_multiple_of(2) => {
                self.dicts[dict].extend(flat.chunks_exact(2).map(|pair| (pair[0], pair[1])));
            }
            // The contents of a namespace are skipped.
            Value::Other => {}
            _ => return Err("its pickle sets items of an object that is not a dict".into()),
        }
        Ok(())
    }

    /// Builds the object that Python would build by calling `callable`.
    fn build_object(&mut self, callable: Value, args: Value) -> Result<Value> {
        let Value::Items(args) = args else { return Err("its pickle has a call without a tuple of arguments".into()) };
        let args = self.items[args].clone();
        match (callable, &args[..]) {
            (Value::Global(Global::OrderedDict), []) => Ok(self.new_dict()),
            // Python 2 passes the entries as pairs.
            (Value::Global(Global::OrderedDict), &[Value::Items(pairs)]) => {
                let pair = |v: &Value| match v {
                    Value::Items(pair) => <[Value; 2]>::try_from(self.items[*pair].as_slice()).ok().map(<(_, _)>::from),
                    _ => None,
                };
                let entries = self.items[pairs].iter().map(pair).collect::<Option<Vec<_>>>();
                self.dicts.push(entries.ok_or("its pickle fills a dict with items that are not pairs")?);
                Ok(Value::Dict(self.dicts.len() - 1))
            }
            (Value::Global(Global::Namespace), []) => Ok(Value::Other),
            (Value::Global(Global::Parameter), [tensor @ Value::Tensor(_), ..]) => Ok(*tensor),
            (
                Value::Global(Global::Tensor),
                &[Value::Storage(storage), Value::Int(offset), Value::Items(shape), Value::Items(stride), ..],
            ) => self.tensor(storage, offset, shape, stride),
            (Value::Global(global), _) => Err(format!("its pickle calls {global:?} with unexpected arguments").into()),
            _ => Err("its pickle calls an object that is not a global".into()),
        }
    }

    /// Adds a storage described by `("storage", type, key, location, length)`; older files append None.
    fn storage(&mut self, id: Value) -> Result<Value> {
        let Value::Items(id) = id else { return Err("its pickle has a storage that is not a tuple".into()) };
        let &[
            Value::Text(_),
            Value::Global(Global::Storage(dtype)),
            Value::Text(key),
            Value::Text(_),
            Value::Int(len),
            ref rest @ ..,
        ] = &self.items[id][..]
        else {
            return Err("its pickle describes a storage differently from torch.save".into());
        };
        if !matches!(rest, [] | [Value::None]) {
            return Err("a storage in it is a view of a second storage (from before PyTorch 0.4); save it again".into());
        }
        let len = usize::try_from(len).map_err(|_| format!("a storage in it has {len} elements"))?;
        let new = Storage { key: self.texts[key].clone(), dtype, len };
        let at = match self.keys.get(&new.key) {
            Some(&at) if self.storages[at] != new => {
                return Err(format!("storage '{}' is described in two ways", shortened(&new.key, 40)).into());
            }
            Some(&at) => at,
            None => {
                self.keys.insert(new.key.clone(), self.storages.len());
                self.storages.push(new);
                self.storages.len() - 1
            }
        };
        Ok(Value::Storage(at))
    }

    fn tensor(&mut self, storage: usize, offset: i64, shape: usize, stride: usize) -> Result<Value> {
        let sizes = |items: usize| -> Result<Vec<usize>> {
            let size = |v: &Value| match v {
                Value::Int(n) => usize::try_from(*n).map_err(|_| format!("a tensor in it has size {n}").into()),
                _ => Err("a tensor in it has a size that is not a number".into()),
            };
            self.items[items].iter().map(size).collect()
        };
        let (shape, stride) = (sizes(shape)?, sizes(stride)?);
        let offset = usize::try_from(offset).map_err(|_| format!("a tensor in it has offset {offset}"))?;
        let len = self.storages[storage].len;
        let count = shape.iter().try_fold(1usize, |n, &s| n.checked_mul(s));
        let last = shape
            .iter()
            .zip(&stride)
            .try_fold(offset, |at, (&size, &stride)| at.checked_add(stride.checked_mul(size.saturating_sub(1))?));
        let fits = shape.len() == stride.len()
            && count.is_some_and(|n| n <= len)
            && last.is_some_and(|last| count == Some(0) || last < len);
        if !fits {
            return Err(format!(
                "a tensor of shape {shape:?}, strides {stride:?} and offset {offset} exceeds its storage of {len} elements"
            )
            .into());
        }
        self.tensors.push(View { storage, offset, shape, stride });
        Ok(Value::Tensor(self.tensors.len() - 1))
    }
}

fn global(module: &str, name: &str) -> Result<Value> {
    let found = Global::parse(module, name).map(Value::Global);
    found.ok_or_else(|| Fault::Global(shortened(&format!("{module}.{name}"), 120)))
}

/// Parses a little-endian two's complement number. Numbers with more than 8 bytes cannot be tensor sizes.
fn long(bytes: &[u8]) -> Value {
    let Some(&last) = bytes.last() else { return Value::Int(0) };
    if bytes.len() > 8 {
        return Value::Other;
    }
    let mut wide = [if last & 0x80 == 0 { 0 } else { 0xff }; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    Value::Int(i64::from_le_bytes(wide))
}
