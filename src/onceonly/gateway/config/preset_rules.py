"""What a preset forbids and demands of an `[[agreement]]` that names it."""

from urllib.parse import urlsplit

from onceonly.gateway.config.file import Table
from onceonly.gateway.config.presets import BY_NAME, PROFILE, Preset
from onceonly.message.identity import PartyId


def check_preset(table: Table) -> None:
    """Refuse what the network does not allow, with its name. Raises `ConfigurationError`."""
    if table["preset"] is None:
        return
    preset = BY_NAME[table["preset"]]
    reason = f"with the preset {preset.name} ({preset.what})"
    if not table["profile"].has_cpa:
        table.refuse("profile", f"is {table['profile'].name} {reason}; legal: {PROFILE}")
    for key in preset.needs:
        if table.has(key) and table[key] is None:
            table.refuse("preset", f"is {preset.name} ({preset.what}): it needs {key}")
    for key, legal in preset.legal.items():
        if table.has(key) and table[key] not in legal:
            words = ", ".join(str(one) for one in legal if one is not None)
            table.refuse(key, f"is {table[key]} {reason}; legal: {words}")
    scheme = urlsplit(table["send_to"]).scheme
    if preset.schemes and scheme not in preset.schemes:
        table.refuse("send_to", f"is {scheme} {reason}; legal: {', '.join(preset.schemes)}")
    _check_types(table, preset, reason)


def _check_types(table: Table, preset: Preset, reason: str) -> None:
    ids: tuple[PartyId, ...] = table["with"]
    for one in ids:
        if preset.party_type is not None and one.type != preset.party_type:
            table.refuse("with", f"has {one} {reason}; legal: type = {preset.party_type!r}")
    if preset.service_type is None or not table.has("services"):
        return
    for service in table["services"] or ():
        if service.type != preset.service_type:
            table.refuse(
                "services",
                f"has {service.id!r} of another type {reason}; legal: type = "
                f"{preset.service_type!r}",
            )
