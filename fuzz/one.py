"""One target under atheris: `python fuzz/one.py NAME [libFuzzer's options and corpora]`.

A process of its own, since libFuzzer ends the process that it runs in. `run.py` starts it.
"""

import sys

import atheris

with atheris.instrument_imports(include=["onceonly"]):
    import fuzzing
    import targets


def main() -> None:
    """Fuzz until the budget is used up, or a finding ends the process."""
    target = targets.BY_NAME[sys.argv[1]]
    atheris.Setup(
        [sys.argv[0], *sys.argv[2:]], lambda data: fuzzing.judge_in_time(target.judge, data) and 0
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
