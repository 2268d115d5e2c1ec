"""`onceonly completion`: the script with which a shell completes commands and options."""

import click
from click.shell_completion import get_completion_class

from onceonly.cli import completing  # noqa: F401 - because it tells click of our script for Bash
from onceonly.cli.output import put_lines

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print the script with which SHELL completes what can stand in a line of onceonly.

    Commands, options and words; and if a gateway answers within a second, recent MessageIds,
    partners, agreements, jobs and reports: the one of -c, --api or ONCEONLY_CONFIG.

    For this session, and for every one from now on:

    \b
    eval "$(onceonly completion bash)"
    onceonly completion bash > ~/.local/share/bash-completion/completions/onceonly
    onceonly completion zsh  > "${fpath[1]}/_onceonly"
    onceonly completion fish > ~/.config/fish/completions/onceonly.fish
    """  # noqa: D301 - because click reads the backspace that keeps the lines apart
    root = click.get_current_context().find_root().command
    script_of = get_completion_class(shell)
    assert script_of is not None, "click knows these shells"
    put_lines(script_of(root, {}, "onceonly", "_ONCEONLY_COMPLETE").source())
