"""No secret of a product's file is shown anywhere, however its name is written."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from advisor import imports
from advisor.errors import InputError
from advisor.imports.secrets import is_secret
from tui.cli import app

SECRET = "hunter2"

NAMES = [
    "password",
    "PASSWORD",
    "pass",
    "pas",
    "loose-password",
    "loose_passw",
    "maximum-password",
    "skip-loose-password",
    "wsrep_sst_auth",
    "wsrep-sst-auth",
    "wsrep_sst_a",
    "ssl_key_password",
    "ssl-key-pass",
    "ssl_passphrase",
    "init_connect",
    "init-con",
    "init_slave",
    "init_replica",
    "init-command",
    "execute",
    "master_password",
    "report-password",
    "report_pa",
    "wsrep_provider_options",
    "encrypt-key",
    "encryption_key",
    "s3_secret_key",
    "s3-access-key",
    "file_key_management_filekey",
    "loose-file-key-management-filek",
    "hashicorp-key-management-token",
    "keyring_hashicorp_secret_id",
    "keyring_encrypted_file_password",
    "authentication_ldap_simple_bind_root_pwd",
    "my_own_secret",
    "plugin.auth_token",
    "db-credentials",
    "MYSQL_PWD",
]
HARMLESS = [
    "innodb_buffer_pool_size",
    "key_buffer_size",
    "foreign_key_checks",
    "whole_key_filtering",
    "innodb_ft_min_token_size",
    "innodb_encryption_rotate_key_age",
    "innodb_default_encryption_key_id",
    "wsrep_provider",
    "init_file",
    "ssl_key",
    "max_connections",
    "port",
    "user",
    "datadir",
    "plugin_load_add",
    "character_set_server",
    "rocksdb_bulk_load",
    "optimize_filters_for_hits",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_secret_is_known_under_every_spelling(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_no_secret_is_shown(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize("as_json", [(), ("--json",)])
@pytest.mark.parametrize("group", ["mysqld", "client"])
def test_import_prints_no_secret(tmp_path: Path, group: str, as_json: tuple[str, ...]) -> None:
    lines = [f"{name} = {SECRET}" for name in NAMES]
    lines += [f"federated_server = mysql://me:{SECRET}@host/db", f'x = "password={SECRET};y=1"']
    (tmp_path / "more.cnf").write_text(f"[{group}]\n" + "\n".join(lines) + "\n")
    (tmp_path / "my.cnf").write_text("!include more.cnf\n[mysqld]\ninnodb_lru_scan_depth=200\n")
    result = CliRunner().invoke(app, ["import", str(tmp_path / "my.cnf"), *as_json])
    assert result.exit_code == 0, result.output
    assert SECRET not in result.output
    assert "***" in result.output
    if as_json:
        told = {one["name"] for one in json.loads(result.stdout)["ignored"]}
        assert {"wsrep_sst_auth", "federated_server"} <= told, "its name is still told"


@pytest.mark.parametrize(
    "line",
    [
        f"pass word = {SECRET}",
        f"password {SECRET}",
        f"password: {SECRET}",
        f'password = "{SECRET}',
        f"!password {SECRET}",
        f"[password={SECRET}",
        f"init connect {SECRET}",
        f"me:{SECRET}@host",
        f"a b = 1 # the password is {SECRET}",
    ],
)
def test_an_error_quotes_no_secret(tmp_path: Path, line: str) -> None:
    for text in (f"[mysqld]\n{line}\n", f"{line}\n"):
        (tmp_path / "my.cnf").write_text(text)
        with pytest.raises(InputError) as caught:
            imports.read_mycnf(tmp_path / "my.cnf")
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        f"password={SECRET}\n",
        f"[Version]\npassword {SECRET}\n",
        f"[password={SECRET}\n",
        f'[Version]\n[DBOptions]\n[CFOptions "default"]\nfilter_policy=secret={SECRET};{{\n',
    ],
)
def test_an_error_of_an_options_file_quotes_no_secret(tmp_path: Path, text: str) -> None:
    (tmp_path / "OPTIONS").write_text(text)
    with pytest.raises(InputError) as caught:
        imports.read_options(tmp_path / "OPTIONS")
    assert SECRET not in str(caught.value)
