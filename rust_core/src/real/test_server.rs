//! The servers that tests start.

use super::server::{ServerOptions, SqlServer, StorageEngine};
use std::path::Path;

const PLUGINS: [&str; 2] = ["/usr/lib/mysql/plugin/ha_rocksdb.so", "/usr/lib/mariadb/plugin/ha_rocksdb.so"];

/// The server that `TUNEBENCH_SERVER` names, or a distribution's.
fn program() -> Option<String> {
    let named = std::env::var("TUNEBENCH_SERVER").ok();
    let usual = ["/usr/sbin/mariadbd", "/usr/sbin/mysqld"].map(str::to_owned);
    named.or_else(|| usual.into_iter().find(|path| Path::new(path).is_file()))
}

/// A private server with these settings; `None`, said on stderr, where there is none with this engine.
pub fn server(directory: &Path, engine: StorageEngine, settings: &str) -> Option<SqlServer> {
    let has_plugin = engine == StorageEngine::InnoDb || PLUGINS.iter().any(|path| Path::new(path).is_file());
    let Some(server) = program().filter(|_| has_plugin) else {
        eprintln!("skipped: no server with {} on this machine, and TUNEBENCH_SERVER names none", engine.name());
        return None;
    };
    let options_file = format!("[mysqld]\n{settings}\n");
    let options = ServerOptions { server, options_file, ..ServerOptions::default() };
    Some(SqlServer::start(directory, engine, &options, 4, &|| false).unwrap())
}
