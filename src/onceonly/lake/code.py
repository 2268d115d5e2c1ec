"""Which code of the lake it is: what was made by other code is made again."""

from hashlib import sha256
from pkgutil import get_data, walk_packages

from onceonly import __version__, lake


def mark(*modules: str) -> str:
    """Changes with every character of these modules of the lake, as in `tables/acks`."""
    texts = [get_data("onceonly.lake", f"{name}.py") or b"" for name in modules]
    return sha256(b"\0".join(texts)).hexdigest()[:12]


def mark_of_all() -> str:
    """Changes with every character of every module of the lake, and with every release."""
    found = walk_packages(lake.__path__, f"{lake.__name__}.")
    paths = [(one.name.removeprefix(f"{lake.__name__}.").replace(".", "/"), one) for one in found]
    every = sorted(f"{path}/__init__" if one.ispkg else path for path, one in paths)
    return f"{__version__}-{mark(*every)}"
