//! The face of the core in Python: `advisor._core`. The only file that knows Python. Dictionaries cross as JSON, the
//! GIL is free while anything runs.

// PyO3's macros take owned and unused arguments.
#![allow(clippy::used_underscore_binding)]

use pyo3::prelude::*;

/// Real storage engines, their workloads, and the clocks that they run under.
#[pymodule]
mod _core {
    use crate::cost::Work;
    use crate::error::Error;
    use crate::options::OptionInfo;
    use crate::run::turning::measure_turning;
    use crate::storage::probe::RandomReads;
    use crate::task::panics;
    use crate::{btree, lsm, run, workload};
    use pyo3::create_exception;
    use pyo3::exceptions::{PyException, PyValueError};
    use pyo3::prelude::*;
    use serde_json::{Value, json};
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    create_exception!(
        advisor._core,
        SpecError,
        PyValueError,
        "A field of a spec is unknown or out of range: args are (field, found, accepted)."
    );
    create_exception!(advisor._core, RunError, PyException, "A run failed: args are (message, is_disk_full).");
    create_exception!(advisor._core, RunCancelled, PyException, "A run was cancelled.");

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        std::panic::set_hook(Box::new(panics::keep));
        let py = module.py();
        module.add("SpecError", py.get_type::<SpecError>())?;
        module.add("RunError", py.get_type::<RunError>())?;
        module.add("RunCancelled", py.get_type::<RunCancelled>())?;
        module.add("VERSION", env!("CORE_VERSION"))?;
        module.add("DEBUG_BUILD", cfg!(debug_assertions))
    }

    fn raise(error: &Error) -> PyErr {
        match error {
            Error::Invalid { field, found, accepted } => {
                SpecError::new_err((field.clone(), found.clone(), accepted.clone()))
            }
            Error::Cancelled => RunCancelled::new_err("cancelled"),
            other => RunError::new_err((other.to_string(), other.is_disk_full())),
        }
    }

    fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (value.to_string(),))
    }

    fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Value> {
        let text: String = value.py().import("json")?.call_method1("dumps", (value,))?.extract()?;
        serde_json::from_str(&text).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    fn describe(table: &[OptionInfo]) -> Value {
        table.iter().map(OptionInfo::to_json).collect()
    }

    /// Every option of an engine (`"lsm"` or `"btree"`) with its default, what it accepts, and its text.
    #[pyfunction]
    fn engine_options<'py>(py: Python<'py>, engine: &str) -> PyResult<Bound<'py, PyAny>> {
        let table = match engine {
            "lsm" => lsm::Options::table(),
            "btree" => btree::Options::table(),
            other => return Err(raise(&Error::invalid("engine", other, "lsm or btree"))),
        };
        to_python(py, &describe(&table))
    }

    /// Every kind of workload with its parameters.
    #[pyfunction]
    fn workload_kinds(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let kinds: Value = workload::kinds()
            .into_iter()
            .map(|(name, text, table)| json!({"name": name, "text": text, "parameters": describe(&table)}))
            .collect();
        to_python(py, &kinds)
    }

    /// Every kind of CPU work with the nanoseconds of a unit where a machine does not say.
    #[pyfunction]
    fn work_kinds(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let kinds: Value =
            Work::ALL.into_iter().map(|work| json!({"name": work.name(), "ns": work.default_ns()})).collect();
        to_python(py, &kinds)
    }

    /// How long a writer of RocksDB that waits turns on this machine before it offers its core, microseconds.
    #[pyfunction]
    fn probe_turning(py: Python<'_>) -> f64 {
        py.detach(measure_turning) as f64 / 1e3
    }

    /// Direct random reads of `read_bytes` each by so many threads, each waiting for its own, for this long.
    #[pyfunction]
    fn probe_reads<'py>(
        py: Python<'py>,
        path: PathBuf,
        read_bytes: u64,
        threads: u32,
        seconds: f64,
        seed: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reads = RandomReads { path: &path, bytes: read_bytes, threads, seconds, seed, is_direct: true };
        let seen = py.detach(|| reads.run()).map_err(|e| raise(&e))?;
        to_python(py, &json!(seen))
    }

    /// Keeps so many bytes of loads for later runs of this process; 0 keeps none.
    #[pyfunction]
    fn keep_loads(limit_bytes: u64) {
        run::load_snapshots::LOADS.limit(limit_bytes);
    }

    /// The loads that this process keeps: how many, their bytes, the limit, and how often runs found one and did not.
    #[pyfunction]
    fn kept_loads(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let counts = run::load_snapshots::LOADS.counts();
        let counts = json!({
            "loads": counts.loads,
            "bytes": counts.bytes,
            "limit_bytes": counts.limit_bytes,
            "hits": counts.hits,
            "misses": counts.misses,
        });
        to_python(py, &counts)
    }

    /// One run of a workload on an engine.
    #[pyclass(frozen)]
    struct Run {
        run: run::Run,
    }

    #[pymethods]
    impl Run {
        /// Checks `spec`; raises `SpecError` for a field that is unknown or out of range.
        #[new]
        fn new(spec: &Bound<'_, PyAny>) -> PyResult<Self> {
            let spec = from_python(spec)?;
            Ok(Self { run: run::Run::new(spec).map_err(|e| raise(&e))? })
        }

        /// Starts the run on threads of its own and returns at once.
        fn start(&self) {
            self.run.start();
        }

        /// Intervals that ended since the last poll.
        fn poll<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            to_python(py, &Value::Array(self.run.poll()))
        }

        /// Asks the run to end; it does within 100 ms, and its report raises `RunCancelled`.
        fn cancel(&self) {
            self.run.cancel();
        }

        /// Waits until the run ends or `timeout_s` passes, and says whether it ended. Signals are looked at meanwhile.
        #[pyo3(signature = (timeout_s=None))]
        fn wait(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<bool> {
            let limit = timeout_s.map(Duration::from_secs_f64);
            // Python's own clock would do as well; this wait belongs to the caller, not to the run.
            #[allow(clippy::disallowed_methods)]
            let began = Instant::now();
            loop {
                let left = limit.map(|limit| limit.saturating_sub(began.elapsed()));
                let nap = left.unwrap_or(Duration::MAX).min(Duration::from_millis(50));
                if py.detach(|| self.run.wait(Some(nap))) {
                    return Ok(true);
                }
                if left.is_some_and(|left| left.is_zero()) {
                    return Ok(false);
                }
                py.check_signals()?;
            }
        }

        /// Whether the run ended, well or not.
        #[getter]
        fn finished(&self) -> bool {
            self.run.is_finished()
        }

        /// The report; raises `RunError` if the run failed and `RunCancelled` if it was cancelled.
        fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
            to_python(py, &self.run.report().map_err(|e| raise(&e))?)
        }
    }
}
