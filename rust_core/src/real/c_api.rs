//! RocksDB's C API (`rocksdb/c.h`) in a shared library that is opened at run time: a distribution's package, the binary
//! inside RocksDB's JNI archive, or the user's own build.

use crate::error::{Error, Result};
use libloading::Library;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::path::{Path, PathBuf};

/// Types of which the C API shows pointers alone.
macro_rules! opaque {
    ($($name:ident),*) => {$(
        #[doc = concat!("`rocksdb_", stringify!($name), "_t`, of which only pointers exist.")]
        #[repr(C)]
        pub struct $name { _opaque: [u8; 0] }
    )*};
}

opaque!(
    Db,
    Options,
    Cache,
    Env,
    FlushOptions,
    ColumnFamily,
    ReadOptions,
    WriteOptions,
    Batch,
    Slice,
    Cursor,
    LiveFiles
);

/// Where a call leaves its error: null, or a text that [`Api::free`] takes.
pub type ErrorText = *mut *mut c_char;

/// Declares the functions that are used: each by its name without `rocksdb_`.
macro_rules! c_api {
    (
        $(fn $name:ident($($argument:ty),*) $(-> $result:ty)?;)*
        optional $(fn $maybe:ident($($maybe_argument:ty),*) $(-> $maybe_result:ty)?;)*
    ) => {
        #[expect(non_snake_case, reason = "as in `c.h`")]
        /// The functions of one library. It stays open until the process ends: RocksDB's own threads do too.
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            $(pub $maybe: Option<unsafe extern "C" fn($($maybe_argument),*) $(-> $maybe_result)?>,)*
        }

        impl Api {
            /// # Safety
            /// The library is RocksDB's: each function has the arguments that `c.h` declares.
            unsafe fn load(library: &Library) -> std::result::Result<Self, libloading::Error> {
                // SAFETY: names and arguments are those of `c.h` from 7.0 to 10.4.
                unsafe {
                    Ok(Self {
                        $($name: *library.get(concat!("rocksdb_", stringify!($name)))?,)*
                        $($maybe: library.get(concat!("rocksdb_", stringify!($maybe))).ok().map(|found| *found),)*
                    })
                }
            }
        }
    };
}

c_api! {
    fn free(*mut c_void);
    fn create_default_env() -> *mut Env;
    fn env_destroy(*mut Env);
    fn cache_create_lru(usize) -> *mut Cache;
    fn cache_destroy(*mut Cache);
    fn cache_get_usage(*mut Cache) -> usize;
    fn cache_get_capacity(*mut Cache) -> usize;
    fn load_latest_options(
        *const c_char, *mut Env, bool, *mut Cache, *mut *mut Options, *mut usize, *mut *mut *mut c_char,
        *mut *mut *mut Options, ErrorText
    );
    fn load_latest_options_destroy(*mut Options, *mut *mut c_char, *mut *mut Options, usize);
    fn options_set_create_if_missing(*mut Options, c_uchar);
    fn options_set_wal_dir(*mut Options, *const c_char);
    fn options_set_db_log_dir(*mut Options, *const c_char);
    fn options_enable_statistics(*mut Options);
    fn options_statistics_get_string(*mut Options) -> *mut c_char;
    fn options_get_disable_auto_compactions(*mut Options) -> c_uchar;
    fn open_column_families(
        *const Options, *const c_char, c_int, *const *const c_char, *const *const Options, *mut *mut ColumnFamily,
        ErrorText
    ) -> *mut Db;
    fn column_family_handle_destroy(*mut ColumnFamily);
    fn cancel_all_background_work(*mut Db, c_uchar);
    fn close(*mut Db);
    fn readoptions_create() -> *mut ReadOptions;
    fn readoptions_destroy(*mut ReadOptions);
    fn writeoptions_create() -> *mut WriteOptions;
    fn writeoptions_destroy(*mut WriteOptions);
    fn writeoptions_set_sync(*mut WriteOptions, c_uchar);
    fn writeoptions_disable_WAL(*mut WriteOptions, c_int);
    fn flushoptions_create() -> *mut FlushOptions;
    fn flushoptions_destroy(*mut FlushOptions);
    fn flushoptions_set_wait(*mut FlushOptions, c_uchar);
    fn flush(*mut Db, *const FlushOptions, ErrorText);
    fn set_options(*mut Db, c_int, *const *const c_char, *const *const c_char, ErrorText);
    fn options_get_level0_file_num_compaction_trigger(*mut Options) -> c_int;
    fn get_pinned(*mut Db, *const ReadOptions, *const c_char, usize, ErrorText) -> *mut Slice;
    fn pinnableslice_value(*const Slice, *mut usize) -> *const c_char;
    fn pinnableslice_destroy(*mut Slice);
    fn writebatch_create_from(*const c_char, usize) -> *mut Batch;
    fn writebatch_destroy(*mut Batch);
    fn write(*mut Db, *const WriteOptions, *mut Batch, ErrorText);
    fn create_iterator(*mut Db, *const ReadOptions) -> *mut Cursor;
    fn iter_destroy(*mut Cursor);
    fn iter_valid(*const Cursor) -> c_uchar;
    fn iter_seek(*mut Cursor, *const c_char, usize);
    fn iter_seek_for_prev(*mut Cursor, *const c_char, usize);
    fn iter_next(*mut Cursor);
    fn iter_prev(*mut Cursor);
    fn iter_key(*const Cursor, *mut usize) -> *const c_char;
    fn iter_value(*const Cursor, *mut usize) -> *const c_char;
    fn iter_get_error(*const Cursor, ErrorText);
    fn property_int(*mut Db, *const c_char, *mut u64) -> c_int;
    fn livefiles(*mut Db) -> *const LiveFiles;
    fn livefiles_count(*const LiveFiles) -> c_int;
    fn livefiles_level(*const LiveFiles, c_int) -> c_int;
    fn livefiles_size(*const LiveFiles, c_int) -> usize;
    fn livefiles_destroy(*const LiveFiles);
    optional
    fn options_set_statistics_level(*mut Options, c_int);
}

/// Libraries that are open, by the path that they were asked for by.
static OPEN: Mutex<BTreeMap<PathBuf, &'static Api>> = Mutex::new(BTreeMap::new());

impl Api {
    /// Opens a library, or finds it open. Refuses what is no library, and one without a function that is used here.
    pub fn open(path: &Path) -> Result<&'static Self> {
        let mut open = OPEN.lock();
        if let Some(api) = open.get(path) {
            return Ok(api);
        }
        let refuse = |error: libloading::Error| {
            let accepted = "a shared library with RocksDB's C API, version 7 or later";
            Error::invalid("options.library", format!("{}: {}", path.display(), words(&error)), accepted)
        };
        // SAFETY: the user names this library as the RocksDB to run; its initializers run as linking would run them.
        let api = unsafe {
            let library = Library::new(path).map_err(refuse)?;
            let api = Self::load(&library).map_err(refuse)?;
            std::mem::forget(library);
            api
        };
        let api: &'static Self = Box::leak(Box::new(api));
        open.insert(path.to_owned(), api);
        Ok(api)
    }

    /// A text that the library allocated.
    ///
    /// # Safety
    /// `text` is null, or a string of the library's that nobody else frees.
    pub unsafe fn take_text(&self, text: *mut c_char) -> Option<String> {
        if text.is_null() {
            return None;
        }
        // SAFETY: the caller gives a whole string; its bytes are copied before they are freed.
        unsafe {
            let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
            (self.free)(text.cast());
            Some(copy)
        }
    }

    /// Calls a function that takes an error text last, and gives its result or the text.
    pub fn call<T>(&self, call: impl FnOnce(ErrorText) -> T) -> std::result::Result<T, String> {
        let mut text = std::ptr::null_mut();
        let result = call(&raw mut text);
        // SAFETY: RocksDB leaves null or a string that its caller frees.
        match unsafe { self.take_text(text) } {
            None => Ok(result),
            Some(words) => Err(words),
        }
    }
}

/// What the loader says, in one line without the library's name twice.
fn words(error: &libloading::Error) -> String {
    let text = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    text.lines().next().unwrap_or_default().to_owned()
}

/// A path or a name for C.
pub fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::invalid("options", "a text with a zero byte", "a text without"))
}
