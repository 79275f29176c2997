"""Which settings of a product's file are secrets, and what is shown in their place.

Servers take an option under many names: with dashes, with prefixes such as `loose_`, cut short as
long as it is unambiguous. A name that could stand for a secret is taken for one; that a harmless
value is hidden now and then costs nothing.
"""

from __future__ import annotations

import re

MASK = "***"

_LISTED = (
    "password",
    "init_connect",
    "init_slave",
    "init_replica",
    "init_command",
    "init_command_add",
    "execute",
    "wsrep_sst_auth",
    "wsrep_provider_options",
    "ssl_key_password",
    "ssl_passphrase",
    "master_password",
    "report_password",
    "encrypt_key",
    "tkey",
    "swift_key",
    "s3_access_key",
    "s3_secret_key",
    "file_key_management_filekey",
    "hashicorp_key_management_token",
    "keyring_hashicorp_role_id",
    "keyring_hashicorp_secret_id",
    "aws_key_management_master_key_id",
    "authentication_ldap_simple_bind_root_pwd",
    "authentication_ldap_sasl_bind_root_pwd",
)
"""Options of MySQL, MariaDB, Galera and their backup programs that hold secrets, or statements and
lists that may hold some."""

_WHOLE_NAMES = frozenset(
    {"ssl", "ssl_key", "wsrep", "wsrep_provider", "encrypt", "keyring", "master", "report"}
)
"""Beginnings of listed names that are options of their own, or of too many."""

_SHORTEST_BEGINNING = 3

_NAME = re.compile(
    r"""pass(?!ive) | pwd | psw | secret | auth(?!or) | credential | token(?!_size)
    | (?: ^ | [_.] ) (?: pas | pin ) (?: $ | [_.] )
    | (?: api | private | access | encrypt | encryption | master | signing )
      _? key (?! _? (?: age | id s? $ | rotat | file | interval | thread ) )""",
    re.VERBOSE,
)
_PREFIX = re.compile(r"(?:(?:loose|maximum|skip|disable|enable|autoset)_)+")
_VALUE = re.compile(
    r""": [^\s:@]{1,256} @
    | (?: pass | pwd | secret | credential | token | api_?key ) \w{0,16} ["']? \s{0,16} [=:('"]
    | identified \s{1,64} (?: by | with | via )
    | \b password \s{1,64} for \b""",
    re.VERBOSE | re.IGNORECASE,
)
_OPTION = re.compile(r"[\w.-]*")


def is_secret(name: str) -> bool:
    """Whether the value of this option is for nobody's eyes, however its name is written."""
    plain = _PREFIX.sub("", re.sub(r"[-\s]", "_", name.strip().lower()), count=1)
    if _NAME.search(plain):
        return True
    if len(plain) < _SHORTEST_BEGINNING or plain in _WHOLE_NAMES:
        return False
    return any(one.startswith(plain) or plain.startswith(f"{one}_") for one in _LISTED)


def shown(name: str, value: str) -> str:
    """The value of an option as it may be shown."""
    return MASK if value and (is_secret(name) or _VALUE.search(value)) else value


def shown_line(line: str) -> str:
    """A line of a file as an error may quote it, although nobody knows what it was meant to be."""
    name, equals, value = line.partition("=")
    if is_secret(name) and not (equals and _OPTION.fullmatch(name.strip())):
        return MASK
    hides = is_secret(name) or is_secret(value) or _VALUE.search(line)
    if not hides:
        return line
    return f"{name}={MASK}" if equals else MASK


def quoted(line: str) -> str:
    """A line as an error may quote it, in quotes."""
    return repr(shown_line(line))
