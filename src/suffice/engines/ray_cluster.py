"""Connection to a Ray cluster, or start of one on this machine; what goes wrong is reported in one line."""

from __future__ import annotations

import logging
import os
import signal
import socket
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from suffice.errors import EngineError, MissingError, parameter

ANSWER_SECONDS = 10  # seconds until the cluster must have answered
UNAUTHENTICATED = "Unauthenticated"  # printed by a library of Ray whose token a cluster refuses; no exception says it
MOST_PRINTED = 1 << 16  # bytes
STORE = 200_000_000  # bytes of Ray's object store, in a cluster that this process starts


def import_ray() -> Any:
    """Return the module `ray`, which is imported when it is first needed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray
    except ImportError as error:
        raise MissingError(
            f"{parameter('engine', 'ray')} needs Ray, which is not installed. Run: pip install 'suffice[ray]'"
        ) from error
    return ray


def connect(ray: Any) -> None:
    """Connect to the cluster of RAY_ADDRESS, or start one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # suppresses a warning about future changes
    address, printed = os.environ.get("RAY_ADDRESS", "local"), ""
    try:
        with _restoring_sigterm(), _capturing_stderr() as read:
            try:
                _init(ray, address)
            finally:
                printed = read()
    except Exception as error:  # Ray raises plain exceptions too, if one of its processes dies
        if UNAUTHENTICATED in printed or isinstance(error, ray.exceptions.AuthenticationError):
            raise EngineError(
                f"the Ray cluster at RAY_ADDRESS={address} wants another token than this process has. Set "
                "RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to the token of the cluster."
            ) from error
        first = reason_of(error, last=False)
        raise EngineError(
            f"Ray cannot be started on this machine ({first}). See the logs in /tmp/ray/session_latest/logs."
            if address == "local"
            else f"there is no Ray cluster at RAY_ADDRESS={address} ({first}). Start one, or unset RAY_ADDRESS."
        ) from error
    # Ray prints to stdout when a worker dies, but stdout is for results and errors are reported above.
    setattr(ray._private.worker, "_worker_logs_enabled", False)  # noqa: B010 private to Ray, and may disappear


def _init(ray: Any, address: str) -> None:
    quietly: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    if address == "local":
        ray.init(address=address, include_dashboard=False, object_store_memory=STORE, **quietly)
    else:
        _knock(address)
        ray.init(address=address, **quietly)


def reason_of(error: Exception, last: bool = True) -> str:
    """Return the line of an error of Ray that says what happened: its last one, or its first one."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1 if last else 0].rstrip(".")[:300]


@contextmanager
def _capturing_stderr() -> Iterator[Callable[[], str]]:
    """Keep what processes and libraries of Ray print on stderr from the user; yield a function that returns it."""
    with tempfile.TemporaryFile() as printed:
        kept = os.dup(2)
        try:
            os.dup2(printed.fileno(), 2)
            yield lambda: os.pread(printed.fileno(), MOST_PRINTED, 0).decode(errors="replace")
        finally:
            os.dup2(kept, 2)
            os.close(kept)


@contextmanager
def _restoring_sigterm() -> Iterator[None]:
    """Restore the handler of SIGTERM, which Ray replaces by one that exits with the number of the signal."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ending = signal.getsignal(signal.SIGTERM)
    try:
        yield
    except SystemExit as exiting:
        if exiting.code == signal.SIGTERM:
            signal.signal(signal.SIGTERM, ending)
            signal.raise_signal(signal.SIGTERM)
        raise
    finally:
        signal.signal(signal.SIGTERM, ending)


def _knock(address: str) -> None:
    """Raise OSError at once if no cluster listens at the address; Ray itself would try for minutes."""
    host, _, port = address.rpartition("/")[2].rpartition(":")
    if port.isdigit():
        socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS).close()
