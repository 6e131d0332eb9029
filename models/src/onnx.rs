//! Networks run by ONNX Runtime, with plain types: the only file that names `ort`.

use std::{
    error::Error,
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use ort::{
    LoadDynamicError,
    environment::Environment,
    logging::LogLevel,
    session::{Session, builder::GraphOptimizationLevel},
    value::{Outlet, TensorElementType, TensorRef, ValueType},
};

pub use crate::tensor::{NetworkError, Port, Tensor, TensorView};

use crate::runtime::RuntimeError;
use crate::tensor::dimension;

/// How many runs and threads a network may use at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workers {
    /// How many [`Network::run`] may be in progress at the same time; further ones wait. At least 1.
    pub sessions: usize,
    /// How many threads each of them uses. At least 1.
    pub threads: usize,
}

impl Workers {
    /// `count` runs at once, of one thread each.
    ///
    /// Use this for several tiles: a second thread of a run gains a factor of 1.3 to 2, a second run always 2.
    #[must_use]
    pub const fn single_threaded(count: usize) -> Self {
        Self { sessions: count, threads: 1 }
    }
}

/// A network, ready to run from any number of threads.
///
/// ```no_run
/// use nestcast_models::{onnx::{Network, Tensor, Workers}, runtime::Runtime};
///
/// let model = std::fs::read("synthesis-0.onnx")?;
/// let network = Network::load(&Runtime::open()?, &model, Workers::single_threaded(2))?;
/// let planes = Tensor { shape: vec![1, 3, 64, 96], data: vec![0.0; 3 * 64 * 96] };
/// let cut = Tensor { shape: vec![1], data: vec![4.0] };
/// let correction = network.run(&[("planes", &planes), ("cut", &cut)])?.remove(0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Network {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    sessions: Pool,
}

impl Network {
    /// Loads a model from the bytes of an `.onnx` file. All its inputs and outputs must be float32 tensors.
    ///
    /// ONNX Runtime trusts them: the networks of a [`Package`](crate::Package) passed [`graph::check`](crate::graph::check).
    pub fn load(runtime: &Runtime, model: &[u8], workers: Workers) -> Result<Self, NetworkError> {
        let open = || open_session(runtime, model, workers.threads.max(1));
        // Each builds its own graph of the model, and the first run of a process waits for that.
        let sessions = thread::scope(|scope| {
            let others: Vec<_> = (1..workers.sessions).map(|_| scope.spawn(open)).collect();
            let first = open();
            let others = others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            std::iter::once(first).chain(others).collect::<ort::Result<Vec<_>>>()
        });
        let sessions = sessions.map_err(|error| NetworkError::Model(one_line(&error)))?;
        Ok(Self {
            inputs: ports(sessions[0].inputs())?,
            outputs: ports(sessions[0].outputs())?,
            sessions: Pool::new(sessions),
        })
    }

    /// The inputs, in the model's order.
    #[must_use]
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// The outputs, in the model's order.
    #[must_use]
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// Runs the network on named inputs, in any order; returns the outputs in the order of [`Self::outputs`].
    pub fn run(&self, inputs: &[(&str, &Tensor)]) -> Result<Vec<Tensor>, NetworkError> {
        let own = |view: &TensorView<'_>| Tensor { shape: view.shape.clone(), data: view.data.to_vec() };
        self.run_with(inputs, |outputs| outputs.iter().map(own).collect())
    }

    /// Like [`Self::run`], but lends the outputs to `read` instead of copying them.
    ///
    /// One of the network's sessions is occupied until `read` returns, so `read` must not run the same network.
    pub fn run_with<R>(
        &self,
        inputs: &[(&str, &Tensor)],
        read: impl FnOnce(&[TensorView<'_>]) -> R,
    ) -> Result<R, NetworkError> {
        self.check(inputs)?;
        let mut session = self.sessions.take();
        let failed = |error: ort::Error| NetworkError::Run(one_line(&error));

        let values = inputs
            .iter()
            .map(|(name, tensor)| Ok((*name, TensorRef::from_array_view((&*tensor.shape, &*tensor.data))?)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        let outputs = session.get().run(values).map_err(failed)?;
        let views = (0..outputs.len())
            .map(|index| {
                let (shape, data) = outputs[index].try_extract_tensor::<f32>()?;
                let shape = shape.iter().filter_map(|&length| dimension(length)).collect();
                Ok(TensorView { shape, data })
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        Ok(read(&views))
    }

    /// ONNX Runtime checks all this too, but its messages do not say who must act.
    fn check(&self, inputs: &[(&str, &Tensor)]) -> Result<(), NetworkError> {
        let given = |port: &Port| inputs.iter().any(|(name, _)| *name == port.name);
        if inputs.len() != self.inputs.len() || !self.inputs.iter().all(given) {
            let takes: Vec<_> = self.inputs.iter().map(|port| port.name.as_str()).collect();
            let given: Vec<_> = inputs.iter().map(|(name, _)| *name).collect();
            return Err(NetworkError::Inputs { takes: takes.join(", "), given: given.join(", ") });
        }
        for (name, tensor) in inputs {
            for port in self.inputs.iter().filter(|port| port.name == *name) {
                port.check(tensor)?;
            }
        }
        Ok(())
    }
}

/// ONNX Runtime, loaded: one for the whole process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Runtime {
    library: PathBuf,
    environment: Environment,
}

impl Runtime {
    /// The file that was loaded.
    #[must_use]
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Returns the loaded library; else loads what `find` finds.
    pub(crate) fn loaded_or(find: impl FnOnce() -> Result<PathBuf, RuntimeError>) -> Result<Self, RuntimeError> {
        /// ONNX Runtime allows one environment per process. It is never released, because that is not safe at exit.
        static LOADED_RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

        let mut loaded = lock(&LOADED_RUNTIME);
        if let Some(loaded) = &*loaded {
            return Ok(loaded.clone());
        }
        let library = find()?;
        match start(&library) {
            Ok(environment) => Ok(loaded.insert(Self { library, environment }).clone()),
            Err(reason) => Err(RuntimeError::Unusable { library, reason }),
        }
    }
}

fn start(library: &Path) -> Result<Environment, String> {
    let environment = ort::init_from(library)
        .map_err(|error| why_not_loaded(&error))?
        .with_name("nestcast")
        .with_telemetry(false)
        .build()
        .map_err(|error| one_line(&error))?;
    // It also returns everything that it would log as an error, and the caller reports that.
    if std::env::var_os("ORT_LOG").is_none() {
        environment.set_log_level(LogLevel::Fatal);
    }
    Ok(environment)
}

/// The system's own words where it has any, such as `invalid ELF header`.
fn why_not_loaded(error: &LoadDynamicError) -> String {
    let LoadDynamicError::Dlopen { error: dlopen, .. } = error else {
        return one_line(error);
    };
    dlopen.source().map_or_else(|| one_line(dlopen), |source| one_line(&source))
}

fn open_session(runtime: &Runtime, model: &[u8], threads: usize) -> ort::Result<Session> {
    Session::builder(&runtime.environment)?
        // Networks are exported as they run. Graph optimisation changed no output and no run's time, but took a third
        // of the start of a session, for which the first picture of a process waits.
        .with_optimization_level(GraphOptimizationLevel::Disable)?
        // Explicit even if it is 1: otherwise ONNX Runtime pins threads to cores, which containers forbid.
        .with_intra_threads(threads)?
        // Waiting threads sleep, because other sessions and the codec share the cores.
        .with_intra_op_spinning(false)?
        .commit_from_memory(model)
}

/// Sessions lent out one by one, because a session runs one thing at a time.
#[derive(Debug)]
struct Pool {
    free: Mutex<Vec<Session>>,
    returned: Condvar,
}

impl Pool {
    const fn new(sessions: Vec<Session>) -> Self {
        Self { free: Mutex::new(sessions), returned: Condvar::new() }
    }

    /// Takes a session, waiting for one if all are in use.
    fn take(&self) -> Lease<'_> {
        let mut free = lock(&self.free);
        loop {
            if let Some(session) = free.pop() {
                return Lease { session: Some(session), pool: self };
            }
            free = self.returned.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A session that goes back to its pool when dropped, even by a panic in the reader of the outputs.
struct Lease<'a> {
    session: Option<Session>,
    pool: &'a Pool,
}

impl Lease<'_> {
    fn get(&mut self) -> &mut Session {
        self.session.as_mut().expect("only drop takes it")
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        lock(&self.pool.free).extend(self.session.take());
        self.pool.returned.notify_one();
    }
}

/// No code here can panic in the middle of a change, so a poisoned lock guards sound data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ports(outlets: &[Outlet]) -> Result<Vec<Port>, NetworkError> {
    let port = |outlet: &Outlet| match outlet.dtype() {
        ValueType::Tensor { ty: TensorElementType::Float32, shape, .. } => {
            Ok(Port { name: outlet.name().to_owned(), shape: shape.iter().map(|&length| dimension(length)).collect() })
        }
        other => Err(NetworkError::NotFloat { port: outlet.name().to_owned(), kind: one_line(other) }),
    };
    outlets.iter().map(port).collect()
}

fn one_line(message: &impl ToString) -> String {
    message.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::known;

    /// `sum = a + b`, both float32: `a` 1x2x?x?, `b` 1x2x1x1. Made by `testdata/make.py`, as are the others.
    const ADD: &[u8] = include_bytes!("testdata/add.onnx");
    /// `sum = a + b`, both int32.
    const ADD_INTEGERS: &[u8] = include_bytes!("testdata/add_integers.onnx");
    /// `sum = a + b`, both float32 vectors: loads, but cannot add vectors of different lengths.
    const ADD_VECTORS: &[u8] = include_bytes!("testdata/add_vectors.onnx");

    fn load(model: &[u8], workers: Workers) -> Result<Network, NetworkError> {
        Network::load(&Runtime::open().expect("`cargo xtask test` brings ONNX Runtime"), model, workers)
    }

    fn tensor(shape: &[usize], data: &[f32]) -> Tensor {
        Tensor { shape: shape.to_vec(), data: data.to_vec() }
    }

    fn bias() -> Tensor {
        tensor(&[1, 2, 1, 1], &[10.0, 20.0])
    }

    #[test]
    fn adds_at_any_size_and_input_order() {
        let network = load(ADD, Workers::single_threaded(1)).expect("model");
        let a = tensor(&[1, 2, 1, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let sum = tensor(&[1, 2, 1, 3], &[11.0, 12.0, 13.0, 24.0, 25.0, 26.0]);
        assert_eq!(network.run(&[("a", &a), ("b", &bias())]), Ok(vec![sum]));

        let a = tensor(&[1, 2, 1, 1], &[1.0, 2.0]);
        assert_eq!(network.run(&[("b", &bias()), ("a", &a)]), Ok(vec![tensor(&[1, 2, 1, 1], &[11.0, 22.0])]));
    }

    #[test]
    fn says_what_it_takes_and_gives() {
        let network = load(ADD, Workers::single_threaded(1)).expect("model");
        let open = vec![Some(1), Some(2), None, None];
        assert_eq!(network.inputs()[0], Port { name: "a".into(), shape: open.clone() });
        assert_eq!(network.inputs()[1].shape, known(&[1, 2, 1, 1]));
        assert_eq!(network.outputs(), [Port { name: "sum".into(), shape: open }]);
    }

    #[test]
    fn runs_from_many_threads() {
        for workers in [Workers::single_threaded(2), Workers { sessions: 1, threads: 2 }] {
            let network = &load(ADD, workers).expect("model");
            thread::scope(|scope| {
                for start in 0..8_u16 {
                    scope.spawn(move || {
                        for step in 0..50 {
                            let value = f32::from(start * 50 + step);
                            let a = tensor(&[1, 2, 1, 1], &[value, value]);
                            let sum = tensor(&[1, 2, 1, 1], &[value + 10.0, value + 20.0]);
                            assert_eq!(network.run(&[("a", &a), ("b", &bias())]), Ok(vec![sum]));
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn a_panicking_reader_returns_the_session() {
        let network = load(ADD, Workers::single_threaded(1)).expect("model");
        let a = bias();
        let b = bias();
        let inputs = [("a", &a), ("b", &b)];
        let panicked =
            thread::scope(|scope| scope.spawn(|| network.run_with(&inputs, |_| panic!("on purpose"))).join().is_err());
        assert!(panicked);
        assert!(network.run(&inputs).is_ok());
    }

    #[test]
    fn wrong_inputs_are_named() {
        let network = load(ADD, Workers::single_threaded(1)).expect("model");
        let a = bias();
        let b = bias();
        let message = |inputs: &[(&str, &Tensor)]| network.run(inputs).expect_err("wrong inputs").to_string();

        assert_eq!(message(&[("a", &a)]), "the network needs the inputs [a, b], but nestcast passed [a]");
        assert_eq!(message(&[("a", &a), ("a", &a)]), "the network needs the inputs [a, b], but nestcast passed [a, a]");
        assert_eq!(message(&[("a", &a), ("c", &b)]), "the network needs the inputs [a, b], but nestcast passed [a, c]");
        assert_eq!(
            message(&[("a", &tensor(&[1, 3, 1, 1], &[0.0; 3])), ("b", &b)]),
            "the network's input a needs the shape 1x2x?x?, but nestcast passed 1x3x1x1"
        );
        assert_eq!(
            message(&[("a", &tensor(&[1, 2, 0, 1], &[])), ("b", &b)]),
            "the network's input a needs the shape 1x2x?x?, but nestcast passed 1x2x0x1"
        );
        assert_eq!(
            message(&[("a", &a), ("b", &tensor(&[], &[0.0]))]),
            "the network's input b needs the shape 1x2x1x1, but nestcast passed scalar"
        );
        assert_eq!(
            message(&[("a", &tensor(&[1, 2, 1, 2], &[0.0; 3])), ("b", &b)]),
            "a tensor for the network's input a has 3 values, but its shape is 1x2x1x2"
        );
        let huge = tensor(&[1, 2, usize::MAX, usize::MAX], &[0.0; 3]);
        assert!(matches!(network.run(&[("a", &huge), ("b", &b)]), Err(NetworkError::Length { given: 3, .. })));
    }

    #[test]
    fn bad_models_are_refused() {
        let refusal = |model| load(model, Workers::single_threaded(1)).expect_err("bad model").to_string();
        for model in [&b""[..], b"not a model", &ADD[..ADD.len() / 2]] {
            let message = refusal(model);
            assert!(message.starts_with("ONNX Runtime refuses the model: "), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
        let message = refusal(ADD_INTEGERS);
        assert!(message.starts_with("the model's a is "), "{message}");
    }

    #[test]
    fn a_failing_run_is_an_error() {
        let network = load(ADD_VECTORS, Workers::single_threaded(1)).expect("model");
        let a = tensor(&[2], &[0.0; 2]);
        let b = tensor(&[3], &[0.0; 3]);
        let error = network.run(&[("a", &a), ("b", &b)]).expect_err("lengths differ");
        assert!(matches!(&error, NetworkError::Run(reason) if !reason.contains('\n')), "{error}");
        assert!(network.run(&[("a", &a), ("b", &a)]).is_ok());
    }
}
