"""Skyward plugin: installs Tutti on the worker and starts its control daemon, then shares the device as `sky.plugins.mps` does.

    from tutti_skyward import tutti

    with sky.Compute(..., plugins=[tutti(active_thread_percentage=25, pinned_memory_limit="0=2G", package="https://.../tutti.deb")]):
        ...

It has the structure of Skyward's own `mps` plugin (an image transform and a bootstrap phase) and its two parameters, so that
either can replace the other. In addition it installs the package, refuses invalid values, and fails the bootstrap with a clear
line if the daemon does not answer.
"""
from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace

# Not in /tmp, where any user of the worker could create them first.
PIPE_DIRECTORY = "/run/nvidia-mps"
LOG_DIRECTORY = "/var/log/nvidia-mps"
DOWNLOADS = "/run/tutti-downloads"

# CUDA_MPS_PINNED_DEVICE_MEM_LIMIT: pairs of a device (ordinal or UUID) and an amount, separated by commas.
_LIMIT = re.compile(r"(\d+|GPU-[0-9a-f-]+)=\d+[MG]B?")


@dataclass(frozen=True)
class Settings:
    """The plugin without Skyward: an environment and the commands of the bootstrap."""

    active_thread_percentage: int | None = None
    pinned_memory_limit: str | None = None
    package: str | None = None  # a .deb or a .tar.gz (bin/ and lib/), as a URL or a path on the worker; None: already installed
    sha256: str | None = None
    prefix: str = "/opt/tutti"  # for a .tar.gz
    pipe_directory: str = PIPE_DIRECTORY
    log_directory: str = LOG_DIRECTORY

    def __post_init__(self) -> None:
        percentage = self.active_thread_percentage
        if percentage is not None and (isinstance(percentage, bool) or not isinstance(percentage, int) or not 1 <= percentage <= 100):
            raise ValueError(f"active_thread_percentage must be a whole number from 1 to 100, but is {percentage!r}")
        limit = self.pinned_memory_limit
        if limit is not None and not all(_LIMIT.fullmatch(part) for part in str(limit).split(",")):
            raise ValueError(f'pinned_memory_limit must be like "0=2G" or "0=1G,1=512M", but is {limit!r}')
        if self.sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", self.sha256):
            raise ValueError(f"sha256 must be 64 hexadecimal digits, but is {self.sha256!r}")

    def environment(self) -> dict[str, str]:
        env = {"CUDA_MPS_PIPE_DIRECTORY": self.pipe_directory, "CUDA_MPS_LOG_DIRECTORY": self.log_directory}
        if self.active_thread_percentage is not None:
            env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = str(self.active_thread_percentage)
        if self.pinned_memory_limit is not None:
            env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = self.pinned_memory_limit
        return env

    def install_commands(self) -> list[str]:
        if self.package is None:
            return []
        commands = []
        path = shlex.quote(self.package)
        if re.match(r"https?://", self.package):
            path = shlex.quote(DOWNLOADS + "/" + self.package.split("?")[0].rsplit("/", 1)[-1])
            commands.append(f"mkdir -p -m 700 {DOWNLOADS} && curl -fsSL --retry 3 -o {path} {shlex.quote(self.package)}")
        if self.sha256 is not None:
            commands.append(f"echo {self.sha256}\\ \\ {path} | sha256sum -c --quiet -")
        if path.strip("'").endswith(".deb"):
            commands.append(f"dpkg -i {path}")
        else:
            prefix = shlex.quote(self.prefix)
            commands.append(f"mkdir -p {prefix} && tar -xzf {path} -C {prefix}")
            # PATH finds the programs, the loader's cache libcuda.so.1: a worker's environment is set too late for LD_LIBRARY_PATH.
            commands.append(f"ln -sf {prefix}/bin/* /usr/local/bin/")
            commands.append(f"echo {prefix}/lib > /etc/ld.so.conf.d/000-tutti.conf && ldconfig")
        return commands

    def start_commands(self) -> list[str]:
        directories = f"{shlex.quote(self.pipe_directory)} {shlex.quote(self.log_directory)}"
        # The bootstrap may run twice on a reused node: a running daemon is as good as a new one.
        return [
            f"mkdir -p {directories}",
            "echo get_server_list | nvidia-cuda-mps-control > /dev/null 2>&1 || nvidia-cuda-mps-control -d",
            "echo get_server_list | nvidia-cuda-mps-control > /dev/null",
        ]

    def commands(self) -> list[str]:
        return self.install_commands() + self.start_commands()


def tutti(active_thread_percentage: int | None = None, pinned_memory_limit: str | None = None, package: str | None = None,
          sha256: str | None = None):
    """The plugin. The first two parameters are those of `sky.plugins.mps`."""
    settings = Settings(active_thread_percentage, pinned_memory_limit, package, sha256)

    from skyward.plugins.plugin import Plugin
    from skyward.providers.bootstrap import phase_simple

    def transform(image, cluster):
        return replace(image, env={**image.env, **settings.environment()})

    def bootstrap(cluster):
        return (phase_simple("tutti", *settings.commands()),)

    return Plugin.create("tutti").with_image_transform(transform).with_bootstrap(bootstrap)
