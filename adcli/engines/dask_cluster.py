"""Parts worked on by the workers of Dask: of a cluster on this machine, which ends with this process, or of a running one.

A task is one part. No more are under way than the workers have threads, so a part whose worker dies is known by it; one that
fails again and again is tried alone at the end, so that none is blamed for what another does to their worker.
"""
from __future__ import annotations

import importlib
import logging
import os
import pickle
import queue
import signal
import sys
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

from adcli.codegen.machine.kernel import processors
from adcli.engines.run import Executor, PartsBar
from adcli.input.settings import ResultOptions
from adcli.lang.ir.errors import AdError, missing, one_line, plural
from adcli.output.streams import ENDINGS, say, temporary_folder
from adcli.output.version import __version__
from adcli.rows.parts import Job, OtherCode, Outcome, Part, done

CONNECT = 10
"""Seconds in which the scheduler of a running cluster has to answer."""
WORKERS = 120
"""Seconds that a cluster may be without workers."""
DASHBOARD = "127.0.0.1:8787"
"""Where the dashboard of our own cluster is, or at another port where this one is taken. Dask would show it to the network."""
TICK = 0.5
"""Seconds between looks at the cluster while nothing comes."""
IN_COMPANY = 2
"""Failures of a part after which it is tried alone."""
CONFIG = {"distributed.scheduler.allowed-failures": 0, "distributed.comm.timeouts.connect": f"{CONNECT}s",
          "distributed.deploy.lost-worker-timeout": "1h", "distributed.scheduler.worker-saturation": 1.0,
          "distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "critical"}
"""Configuration of a cluster of our own: a death counts here and not there, a worker may take its time to come back, and its
processes log nothing (they set the levels of their loggers on import, so that only the environment reaches them in time)."""


def executor(where: str | None, options: ResultOptions) -> Executor:
    """Executor with Dask: at the address of a scheduler, or on this machine."""
    if find_spec("distributed") is None:
        raise missing("--engine dask", "'dask[distributed]'")
    return partial(outcomes, where, options)


def outcomes(where: str | None, options: ResultOptions, job: Job, todo: Sequence[Part], bar: PartsBar) -> Generator[Outcome]:
    """Outcomes in the order in which parts are done."""
    _quiet_loggers()
    alone = replace(job, options=replace(job.options, jobs=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dashboard = not options.quiet and find_spec("bokeh") is not None
        with client_of(where, min(options.jobs or processors(), len(todo)), dashboard) as client:
            if dashboard:
                say(f"dashboard: {client.dashboard_link}")
            yield from Tasks(client, alone, todo, options.retries, bar, where or "the workers of this machine").outcomes()


@contextmanager
def client_of(where: str | None, workers: int, dashboard: bool) -> Iterator[Any]:
    """A client of the cluster."""
    import dask
    from distributed import Client
    with dask.config.set(CONFIG):
        if where is None:
            with local_cluster(workers, dashboard) as cluster, Client(cluster, set_as_default=False) as client:
                yield client
            return
        try:
            client = within(CONNECT + 1, partial(Client, where, timeout=CONNECT, set_as_default=False))
        except (OSError, ValueError) as error:   # TimeoutError is an OSError
            reason = f"no scheduler answers within {CONNECT} s" if isinstance(error, OSError) else str(error)
            raise AdError(f"--engine dask={where}: {reason}",
                          help="start it with: dask scheduler; or leave out the address: --engine dask") from None
        with client:
            yield client


@contextmanager
def local_cluster(workers: int, dashboard: bool) -> Iterator[Any]:
    """A cluster of processes of one thread each, which end with this one however it ends, and which no other machine can reach.
    An interrupt from the terminal is for this process alone."""
    import dask
    from distributed import LocalCluster
    with temporary_folder(None) as folder, dask.config.set({"temporary-directory": folder}):
        _quiet_tracker()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])   # for the threads and processes that begin here
        try:
            cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, silence_logs=logging.CRITICAL,
                                   local_directory=folder, env={"POLARS_MAX_THREADS": "1"},
                                   dashboard_address=DASHBOARD if dashboard else None)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

        def kill() -> None:
            for nanny in cluster.workers.values():
                with suppress(Exception):
                    os.kill(nanny.pid, signal.SIGKILL)

        ENDINGS.add(kill)
        try:
            yield cluster
        finally:
            with suppress(Exception):
                cluster.close(timeout=TICK)
            kill()
            ENDINGS.discard(kill)


def _quiet_loggers() -> None:
    """Silence loggers, which are for who runs a cluster. On import Dask gives some of its loggers levels of their own."""
    importlib.import_module("distributed")
    for name in ("distributed", "tornado", "asyncio", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _quiet_tracker() -> None:
    """Start the process that removes semaphores which a process has left that ended at once, as ours does: it is to do so without
    a word."""
    from multiprocessing import resource_tracker
    sys.warnoptions.append("ignore:resource_tracker")
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.pop()


class PartCall:
    """Reading it from a pickle does what a job asks of a part, and gives the outcome. So what Dask carries are bytes: a machine
    that cannot load adcli fails at the part, and not at Dask's messages, and the scheduler needs no adcli."""

    def __init__(self, job: Job, part: Part) -> None:
        self.job, self.part = job, part

    def __reduce__(self) -> tuple[Callable[..., Outcome], tuple[Job, Part]]:
        return done, (self.job, self.part)


class Tasks:
    """The parts of a job on their way through a cluster, which messages call `where`."""

    def __init__(self, client: Any, job: Job, todo: Sequence[Part], retries: int, bar: PartsBar, where: str) -> None:
        self.client, self.job, self.retries, self.bar, self.where = client, job, retries, bar, where
        self.waiting, self.doubtful = deque(todo), deque[Part]()
        self.running: dict[Any, Part] = {}
        self.ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.failures: Counter[int] = Counter()
        self.threads = 0
        self.seen = time.monotonic()

    def outcomes(self) -> Generator[Outcome]:
        try:
            self._look()
            while self.waiting or self.doubtful or self.running:
                self._submit()
                try:
                    future = self.ended.get(timeout=TICK)
                except queue.Empty:
                    self._look()
                    continue
                outcome = self._outcome(future, self.running.pop(future))
                if outcome is not None:
                    yield outcome
        finally:
            with suppress(Exception):
                self.client.cancel(list(self.running), force=True)

    def _submit(self) -> None:
        """Keep every thread of the workers busy."""
        while self.threads and len(self.running) < self.threads and (self.waiting or (self.doubtful and not self.running)):
            part = self.waiting.popleft() if self.waiting else self.doubtful.popleft()
            number = f"{id(self):x}-{part.number}-{self.failures[part.number]}"
            work = pickle.dumps(PartCall(self.job, part))
            future = self.client.submit(pickle.loads, work, key=f"adcli-{number}", pure=False, retries=0)
            self.running[future] = part
            future.add_done_callback(self.ended.put)
            if self.failures[part.number] >= IN_COMPANY:
                return

    def _look(self) -> None:
        """See what workers there are. AdError where there have been none for too long."""
        try:
            threads = within(WORKERS, self.client.nthreads)
        except Exception as error:
            raise self._gone(error) from None
        now = time.monotonic()
        self.threads = sum(threads.values())
        if self.threads:
            self.seen = now
        elif now - self.seen > WORKERS:
            raise AdError(f"{self.where}: no workers for {WORKERS} s", help="--resume goes on with what is done")
        self.bar.wait(len(threads))

    def _gone(self, error: Exception) -> AdError:
        return AdError(f"{self.where}: the scheduler has gone: {one_line(str(error) or type(error).__name__)}",
                       help="--resume goes on with what is done")

    def _outcome(self, future: Any, part: Part) -> Outcome | None:
        """The outcome of a part; None where it is to be tried again."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker
        try:
            outcome: Outcome = future.result(timeout=CONNECT)
            return outcome
        except OtherCode:
            raise AdError(f"{self.where}: the workers run another adcli than this one, {__version__}",
                          help="install the same version for this command and all workers") from None
        except CancelledError as error:
            raise self._gone(error) from None
        except KilledWorker:
            reason = "its worker died"
        except Exception as error:
            if isinstance(error, TimeoutError) and future.status != "error":   # its worker died when it was done
                self.running[future] = part
                self.ended.put(future)
                self._look()
                return None
            if unloadable(error):
                raise AdError(f"{self.where}: cannot load adcli there: {one_line(str(error))}",
                              help=f"install adcli {__version__} for all workers") from None
            reason = f"{type(error).__name__}: {error}"
        self.failures[part.number] += 1
        times = self.failures[part.number]
        if times > self.retries:
            again = f", in {plural(times, 'attempt')}" if times > 1 else ""
            return Outcome(part, fault=f"{part.name}: {one_line(reason)}{again}")
        (self.waiting if times < IN_COMPANY else self.doubtful).append(part)
        return None


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """The result of a call. TimeoutError where it gives nothing in time, as Dask's own calls may where somebody else answers."""
    given: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            given.put((call(), None))
        except BaseException as error:
            given.put((None, error))
    threading.Thread(target=work, daemon=True).start()
    try:
        found, error = given.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no answer within {seconds} s") from None
    if error is not None:
        raise error
    return found


def unloadable(error: Exception) -> bool:
    """True if another machine does not know what it is given to do."""
    return isinstance(error, ImportError | AttributeError) and "adcli" in str(error)
