import pickle

from advisor.errors import InputError, TunebenchError, WorkError


def test_an_input_error_is_one_line_that_says_where_what_and_what_instead() -> None:
    error = InputError("my.cnf", 12, "innodb_io_capacity=\nlots", "a whole\nnumber")
    assert str(error) == "my.cnf:12: found innodb_io_capacity= lots; accepted: a whole number"


def test_exit_codes_tell_wrong_input_from_failed_work() -> None:
    assert InputError("a", None, "b", "c").exit_code == 2
    assert WorkError("disk full").exit_code == 1
    assert issubclass(InputError, TunebenchError)
    assert issubclass(WorkError, TunebenchError)


def test_an_input_error_survives_a_process_boundary() -> None:
    error = InputError("a", "b.c", "d", "e")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.where) == (str(error), "b.c")


def test_an_error_stays_readable_whatever_it_is_about() -> None:
    error = InputError("my.cnf", "k" * 5000, "\x1b[2J\udcff" + "f" * 5000, "a" * 50000)
    assert str(error).isprintable()
    assert len(str(error)) < 3000
    assert "\\x1b[2J\\udcff" in str(error)
