# SPDX-License-Identifier: Apache-2.0
"""The machine: what it is, what it can do, and whether it is quiet. Standard library only.

`Machine(cpus, folder)` compiles probe.c there and measures rates on these processors together; `canary()` is a short
reading of two of them; `busy()` the processor seconds used by anybody; `floor_seconds(floor, rates)` what a
workload cannot go below.
"""
import ctypes
import pathlib
import statistics
import subprocess
import threading

INDEPENDENT, DEPENDENT, EXP, SUM, TRIAD, STREAM = range(6)
ALIGN = 64


class Machine:
    def __init__(self, cpus, folder):
        self.cpus, self.readings = sorted(cpus), {}
        library = pathlib.Path(folder) / "probe.so"
        source = pathlib.Path(__file__).with_name("probe.c")
        subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-w", str(source), "-o", str(library)],
                       check=True)
        self.probe = ctypes.CDLL(str(library)).probe
        self.probe.restype = ctypes.c_double
        self.probe.argtypes = [ctypes.c_int] + [ctypes.c_void_p] * 3 + [ctypes.c_long] * 2
        self.memory = {}

    def arrays(self, thread, n):
        """Three arrays of n floats that are this thread's, touched."""
        key = (thread, n)
        if key not in self.memory:
            raw = [ctypes.create_string_buffer(b"\0" * 1, 4 * n + ALIGN) for _ in range(3)]
            for r in raw:
                ctypes.memset(r, 0, len(r))
            self.memory[key] = raw, [(ctypes.addressof(r) + ALIGN - 1) // ALIGN * ALIGN for r in raw]
        return self.memory[key][1]

    def seconds(self, kind, n, repeat=1, threads=None):
        """The slowest of the threads, started together."""
        threads = threads or len(self.cpus)
        barrier, out = threading.Barrier(threads), [0.0] * threads
        arrays = [self.arrays(i, n if kind >= EXP else 128) for i in range(threads)]

        def go(i):
            barrier.wait()
            out[i] = self.probe(kind, *arrays[i], n, repeat)
        pool = [threading.Thread(target=go, args=(i,)) for i in range(threads)]
        for t in pool:
            t.start()
        for t in pool:
            t.join()
        return max(out)

    def rate(self, kind, n, repeat, amount, tries=5):
        """Amounts per second of all processors together, the best of some tries."""
        return max(len(self.cpus) * amount / self.seconds(kind, n, repeat) for _ in range(tries))

    def rates(self):
        l2, l3, dram = 64 << 8, 340 << 10, 24 << 20  # floats per array and thread
        r = dict(flops=self.rate(INDEPENDENT, 400_000, 1, 400_000 * 24 * 32),
                 exps=self.rate(EXP, 4096, 1000, 4096 * 1000),
                 chain=1e6 / min(self.seconds(DEPENDENT, 1_000_000, 1, 1) for _ in range(5)))
        for name, n, repeat in (("l2", l2, 300), ("l3", l3, 10), ("dram", dram, 1)):
            r["read_" + name] = self.rate(SUM, n, repeat, 12 * n * repeat)
            r["write_" + name] = max(self.rate(k, n, repeat, 12 * n * repeat) for k in (TRIAD, STREAM))
        self.memory = {k: v for k, v in self.memory.items() if k[1] != dram}
        return r

    def canary(self):
        """Flops and 12 MiB triad rates now, as shares of the median readings of this run. Not of the best ones: where
        a host moves virtual processors, memory has more than one usual speed."""
        now = dict(flops=self.rate(INDEPENDENT, 100_000, 1, 100_000 * 24 * 32, 2),
                   bytes=self.rate(TRIAD, 512 << 10, 2, 2 * 12 * (512 << 10), 2))
        for k, v in now.items():
            self.readings.setdefault(k, []).append(v)
        return {k: v / statistics.median(self.readings[k]) for k, v in now.items()}

    def busy(self):
        """Seconds that our processors have worked for anybody, or were taken by the host."""
        total = 0
        for line in open("/proc/stat"):
            word = line.split()
            if word[0][:3] == "cpu" and word[0][3:].isdigit() and int(word[0][3:]) in self.cpus:
                user, nice, system, _, _, irq, soft, steal = map(int, word[1:9])
                total += user + nice + system + irq + soft + steal
        return total / 100


def floor_seconds(floor, rates):
    """Lower bound from a workload's floor; None if it has none."""
    if not floor or not rates:
        return None
    times = []
    if "flops" in floor:
        times.append(floor["flops"] / rates["flops"])
    if "exps" in floor:
        times.append(floor["exps"] / rates["exps"])
    if "words" in floor:  # random words: about 75 integer operations for two of them, at half the flops of FMAs
        times.append(floor["words"] / 2 * 75 / (rates["flops"] / 2))
    if "bytes" in floor:
        spread = floor.get("ws", floor["bytes"])
        level = "l2" if spread < 2.4e6 else "l3" if spread < 32e6 else "dram"
        times.append(floor["bytes"] / rates[("write_" if floor.get("writes") else "read_") + level])
    if "steps" in floor:  # a dependent FMA takes 4 cycles
        times.append(floor["steps"] * floor["cycles"] / 4 / rates["chain"])
    return sum(times) if floor.get("sum") else max(times)


def description():
    """What the table's reader has to know of the machine."""
    out = {}
    for line in open("/proc/cpuinfo"):
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            out["processor"] = value.strip()
        if key.strip() == "flags":
            flags = value.split()
            out["vectors"] = next((f for f in ("avx512f", "avx2") if f in flags), "sse")
    for index in range(4):
        folder = pathlib.Path(f"/sys/devices/system/cpu/cpu0/cache/index{index}")
        if folder.exists() and (folder / "type").read_text().strip() != "Instruction":
            out["L" + (folder / "level").read_text().strip()] = (folder / "size").read_text().strip()
    for line in open("/proc/meminfo"):
        if line.startswith("MemTotal"):
            out["memory"] = f"{int(line.split()[1]) / 2**20:.0f} GiB"
    return out
