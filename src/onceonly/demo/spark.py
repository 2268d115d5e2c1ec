"""Spark comes up while the gateways are still busy: half a minute of a demonstration saved.

Knows how to start the lake's session early and quietly. It must not know what Spark is for.
"""

from threading import Thread

from onceonly.demo.gateways import DemoFailed


def start_spark() -> Thread:
    """Begin to start the session that the lake's jobs will find; it is up when the thread ends.

    Raises at once what can be known at once: `DemoFailed` without pyspark, `LocalError` (NoJava)
    without Java.
    """
    try:
        from onceonly.lake import java, runner  # noqa: PLC0415 - because Spark is an extra
    except ImportError as error:
        raise DemoFailed(f"the proof needs onceonly[spark]: {error}") from error
    java.prepare()

    def start() -> None:
        # Two journals of a demonstration are little, whatever is sent: they have no payloads.
        runner.session(None, "onceonly demo", journal_bytes=0)

    # A daemon, so that Ctrl-C need not wait for it; its JVM ends with us. What went wrong in it
    # goes wrong again, and is reported, in the first of the lake's jobs.
    thread = Thread(target=start, name="spark starts", daemon=True)
    thread.start()
    return thread
