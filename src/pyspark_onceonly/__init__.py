"""`format("onceonly")`: a gateway as a sink of DataFrames, and as a source of them.

Spark finds `DefaultSource` here by the package's name, with nothing to register. The code talks
to a gateway's application API and knows nothing of its inside. `template` builds payloads,
`report_progress` and `ProcessingListener` tell the gateway how far a pipeline has come.
"""

from pyspark_onceonly.checkpoint import ProcessingListener, report_progress
from pyspark_onceonly.payloads import template
from pyspark_onceonly.source import DefaultSource

__all__ = ["DefaultSource", "ProcessingListener", "report_progress", "template"]
