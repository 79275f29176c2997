"""The machine as queues: how many operations per second what each of them needs allows.

Clients compute on cores and wait for the device; jobs take both beside them. By Little's law the
clients are as many as the throughput times what an operation takes, queues included; a queue of m
servers keeps one waiting for r^(sqrt(2 (m + 1)) - 1) / (m (1 - r)) services at utilization r
(Sakasegawa 1977). What jobs need beyond what their threads can do is a limit of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from advisor import core as bridge
from advisor.analytic.columns import Numbers
from advisor.hardware import CloudVolume, Device, DiskArray, Flash, Hardware, calls

BISECTIONS = 40
KB = 1024.0
FLASH_READ = 16 * KB
"""A larger read takes several channels at once: docs/model.md, larger reads of flash."""
CACHES_FILL_NS = 50_000.0
"""Of work after which caches lack one part in e: `rust_core/src/run/world.rs`."""
P99_OF_MEAN = 4.6
"""Of an exponential distribution: ln 100."""


@dataclass(frozen=True)
class Resources:
    """What one operation needs, on average."""

    client_cpu_us: Numbers
    job_cpu_us: Numbers
    reads: Numbers
    """Of clients, one after the other."""
    read_kb: Numbers
    """Of clients."""
    job_reads: Numbers
    """Requests."""
    job_read_kb: Numbers
    log_kb: Numbers
    log_syncs: Numbers
    """That a client waits for."""
    job_writes: Numbers
    """Requests that each go to a place of their own."""
    job_write_kb: Numbers
    job_threads: Numbers
    """Threads that do the jobs, at most."""
    job_of: Numbers
    """Operations whose background work is in one job that others wait for."""
    room_of: Numbers
    """Operations that may come meanwhile before writers are slowed down."""
    slowed_per_us: Numbers
    """Operations that they are slowed down to."""
    user_kb: float
    space_amp: Numbers
    round_trips: float
    """Between a client and its SQL server."""
    round_trip_us: float
    """Of a core, for each, on the client's side while that is warm."""

    @property
    def write_kb(self) -> Numbers:
        return self.log_kb + self.job_write_kb


@dataclass(frozen=True)
class Station:
    """Servers that clients and jobs share."""

    servers: float
    client_us: Numbers
    """Service of an operation that its client waits for."""
    job_us: Numbers

    def per_server(self) -> Numbers:
        """Time of one server that an operation takes."""
        return (self.client_us + self.job_us) / self.servers


def prices(machine: Hardware, product: str) -> dict[str, float]:
    """Nanoseconds of a unit of each kind of work, calls of the product among them, as the core
    prices them (`rust_core/src/cost/prices.rs`); nothing for a kind that it does not know."""
    spoken = calls(machine.calls).by_product.get(product, {}) if machine.calls else {}
    prices: dict[str, float] = defaultdict(float)
    for kind in bridge.load().work_kinds():
        name, ns = str(kind["name"]), float(kind["ns"])
        prices[name] = dict[str, float](machine.work_ns).get(  # type: ignore[arg-type]
            name, spoken.get(name, ns) * machine.slowdown
        )
    return prices


def _of_statements_us(needs: Resources, machine: Hardware) -> Numbers:
    """The clients' part of an operation's statements, which is colder the longer the server
    computes in between."""
    if not needs.round_trips:
        return np.zeros_like(needs.client_cpu_us)
    left = np.zeros_like(needs.client_cpu_us)
    if machine.statement_cools_us:
        served_us = needs.client_cpu_us / needs.round_trips
        left = np.exp(-served_us / machine.statement_cools_us)
    cold_us = machine.statement_cold_us * (1.0 - left)
    return needs.round_trips * (needs.round_trip_us + cold_us)


def predicted(needs: Resources, machine: Hardware, clients: int) -> dict[str, Numbers]:
    """Metrics by their names in a report."""
    stations = [
        Station(
            machine.cpu_cores,
            needs.client_cpu_us + _of_statements_us(needs, machine),
            needs.job_cpu_us,
        ),
        *_device(machine.device, needs),
    ]
    latency_us, write_us, sync_us = _latencies(machine.device)
    delay = (
        needs.reads * latency_us
        # A commit waits for half of the sync under way and for its own.
        + needs.log_syncs * (1.5 * sync_us + write_us)
        + needs.round_trips * machine.statement_wait_us
    )
    ops_per_us = _closed(stations, delay, clients)
    ops_per_us = np.minimum(ops_per_us, _jobs(stations, machine.device, needs))
    write_kb = needs.write_kb
    return {
        "ops_per_s": ops_per_us * 1e6,
        "p50_us": clients / ops_per_us * np.log(2.0),
        "p95_us": clients / ops_per_us * np.log(20.0),
        "p99_us": clients / ops_per_us * P99_OF_MEAN,
        "reads_per_op": needs.reads + needs.job_reads,
        "read_kb_per_op": needs.read_kb + needs.job_read_kb,
        "write_kb_per_op": write_kb,
        "write_amp": write_kb / needs.user_kb if needs.user_kb else np.zeros_like(write_kb),
        "cpu_us_per_op": needs.client_cpu_us + needs.job_cpu_us,
        "space_amp": needs.space_amp,
    }


def _closed(stations: list[Station], delay: Numbers, clients: int) -> Numbers:
    """Operations per microsecond of so many clients."""
    low = np.zeros_like(delay)
    high = 1.0 / np.maximum.reduce([station.per_server() for station in stations]).clip(1e-9)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        inside = middle * (delay + sum((_held(one, middle) for one in stations), np.zeros(1)))
        low, high = (
            np.where(inside < clients, middle, low),
            np.where(inside < clients, high, middle),
        )
    return low


def _held(station: Station, rate: Numbers) -> Numbers:
    """What an operation spends at a station."""
    busy = (rate * station.per_server()).clip(0.0, 1 - 1e-9)
    m = station.servers
    waits = busy ** (sqrt(2 * (m + 1)) - 1) / (m * (1 - busy))
    return np.asarray(station.client_us * (1.0 + waits))


def _jobs(stations: list[Station], device: Device, needs: Resources) -> Numbers:
    """Operations per microsecond whose background work its threads can do: they compute, read and
    write one after the other, at the device's rate if nobody else used it. Nor can more come
    during one job than there is room for, or than slowed writers send."""
    latency_us, write_us, _ = _latencies(device)
    transfer = sum((one.job_us / one.servers for one in stations[1:]), np.zeros(1))
    one_thread = needs.job_cpu_us + transfer + needs.job_reads * latency_us
    one_thread = one_thread + needs.job_writes * write_us
    one_thread = one_thread.clip(1e-9)
    meanwhile = needs.room_of / (needs.job_of * one_thread).clip(1e-9)
    most = np.maximum(meanwhile, needs.slowed_per_us)
    return np.asarray(np.minimum(needs.job_threads / one_thread, most))


def random_read_us(device: Device) -> float:
    """How long a small random read of an idle device takes, microseconds."""
    return _position_us(device) if isinstance(device, DiskArray) else device.read_latency_us


def _latencies(device: Device) -> tuple[float, float, float]:
    """What a client's read waits for besides the stations, a write and a sync; microseconds."""
    match device:
        case Flash():
            return 0.0, device.write_latency_us, device.sync_us
        case DiskArray():
            position = _position_us(device)
            hidden = device.write_cache_bytes > 0
            return 0.0, 50.0 if hidden else position, 50.0 if hidden else position
        case CloudVolume():
            return device.read_latency_us, device.write_latency_us, device.write_latency_us


def _position_us(device: DiskArray) -> float:
    """Seek over a third of the stroke, by the square root of the distance, and half a turn."""
    span = device.max_seek_us - device.min_seek_us
    return device.min_seek_us + span * sqrt(1 / 3) + 30e6 / device.rpm


def _device(device: Device, needs: Resources) -> list[Station]:
    read_kb, wrote_kb = needs.read_kb, needs.write_kb
    all_kb = read_kb + needs.job_read_kb + wrote_kb
    nothing = np.zeros_like(read_kb)
    match device:
        case Flash():
            # A read holds a channel for each 16 KiB, all at the same time, and its client for the
            # latency; programs take channels for their share of the write rate.
            each_kb = read_kb / needs.reads.clip(1e-9)
            more = np.ceil(each_kb * KB / FLASH_READ).clip(1.0) - 1.0
            held_us = needs.reads * device.read_latency_us
            programs = wrote_kb * KB / device.write_mb_per_s * device.channels
            job_reads = needs.job_read_kb * KB / device.read_mb_per_s * device.channels
            channels = Station(device.channels, held_us, held_us * more + programs + job_reads)
            # Bytes over megabytes per second are microseconds.
            link_us = read_kb * KB / device.link_mb_per_s + needs.reads * device.link_command_us
            others = (all_kb - read_kb) * KB / device.link_mb_per_s
            others = others + (needs.job_reads + needs.job_writes) * device.link_command_us
            return [channels, Station(1, link_us, others)]
        case DiskArray():
            position = _position_us(device)
            transfer = KB / device.mb_per_s
            random = needs.reads * position + read_kb * transfer
            jobs = (needs.job_reads + 0.55 * needs.job_writes) * position
            jobs = jobs + (needs.job_read_kb + wrote_kb) * transfer
            return [Station(device.disks, random, jobs)]
        case CloudVolume():
            per_request = 1e6 / device.iops
            requests = needs.job_reads + needs.job_writes + needs.log_syncs
            return [
                Station(1, needs.reads * per_request, requests * per_request),
                Station(1, nothing, all_kb * KB / device.mb_per_s),
            ]


def with_cold_work(warm_ns: Numbers, reads: Numbers, prices: Mapping[str, float]) -> Numbers:
    """CPU time of operations with so many reads from the drive, behind each of which work finds
    cold caches until it has filled them."""
    between_ns = warm_ns / np.maximum(reads, 1e-9)
    cold_ns = reads * CACHES_FILL_NS * -np.expm1(-between_ns / CACHES_FILL_NS)
    return warm_ns + prices["cold_work"] * cold_ns
