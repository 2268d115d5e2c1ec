"""What all tests of the transports have: each runs on both event loops; a certificate."""

import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request):
    """Both loops: the gateway runs on uvloop where it can, and the two differ at the edges."""
    return ("asyncio", {"use_uvloop": request.param})


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A self-signed certificate for 127.0.0.1 with its key."""
    if not shutil.which("openssl"):
        pytest.skip("makes its certificate with openssl")
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    return folder


@pytest.fixture
def server_tls(certificate):
    """What a peer listens with; who trusts `cert.pem` trusts it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    return context
