"""One TOML file per gateway: every key as data; a file with an error is refused with its line."""

from onceonly.gateway.config.alerts import AlertWay
from onceonly.gateway.config.configuration import (
    ClientSettings,
    Configuration,
    Drill,
    Limits,
    read_client_settings,
    read_configuration,
)
from onceonly.gateway.config.file import ConfigurationError
from onceonly.gateway.config.folder_keys import Ready, Report
from onceonly.gateway.config.folders import Drop, Pickup
from onceonly.gateway.config.transports import Amqp, Smtp, StartTls, Tls
from onceonly.gateway.config.webhooks import Webhook

__all__ = [
    "AlertWay",
    "Amqp",
    "ClientSettings",
    "Configuration",
    "ConfigurationError",
    "Drill",
    "Drop",
    "Limits",
    "Pickup",
    "Ready",
    "Report",
    "Smtp",
    "StartTls",
    "Tls",
    "Webhook",
    "read_client_settings",
    "read_configuration",
]
