"""Self-signed certificates for 127.0.0.1."""

import shutil
import subprocess
from pathlib import Path

import pytest


def need_openssl() -> None:
    """Skip the test where there is no program that makes certificates."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here, which makes the certificates")


def certify(folder: Path, name: str) -> None:
    """NAME.pem and NAME.key."""
    need_openssl()
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
