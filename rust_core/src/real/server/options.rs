//! How a server is started: its program and the file of its settings, which may not reach out of the run's folder.

use crate::engine_options;
use crate::error::{Error, Result};
use crate::options::Accepts;

engine_options! {
    /// How a server is opened. What a my.cnf can say stands in the file.
    ServerOptions {
        server: String = "", Accepts::Text("the path of mariadbd or mysqld", ".+"),
            "The server to run.";
        options_file: String = "", Accepts::Text("the text of a my.cnf", "[\\s\\S]*"),
            "Its settings; the server's defaults if empty.";
        table_options: String = "", Accepts::Text("table options of SQL", "[\\s\\S]*"),
            "What follows each CREATE TABLE, such as ROW_FORMAT=COMPRESSED.";
    }
}

/// Refuses a file that names other files: what a run writes stays in its folder.
pub fn check_file(text: &str) -> Result<()> {
    for line in text.lines().map(str::trim) {
        let value = line.split_once('=').map_or("", |(_, value)| value.trim().trim_matches(['"', '\'']));
        let is_comment = line.starts_with(['#', ';']);
        if !is_comment && (line.starts_with('!') || value.starts_with('/') || value.contains("../")) {
            let accepted = "settings without paths: a private server keeps to the folder of its run";
            return Err(Error::invalid("options.options_file", line, accepted));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_reaches_out_is_refused_with_its_line() {
        check_file("[mysqld]\n# datadir = /srv\ninnodb_buffer_pool_size = 1G\nlog_bin\n").unwrap();
        for line in ["datadir=/srv/mysql", "tmpdir = \"/tmp\"", "innodb_undo_directory=../x", "!includedir /etc/my.d"] {
            let message = check_file(&format!("[mysqld]\n  {line}\n")).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("options.options_file: found {line}, accepted: settings")),
                "{message}"
            );
        }
    }
}
