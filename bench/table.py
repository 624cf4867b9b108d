# SPDX-License-Identifier: Apache-2.0
"""The table of a run (run.py's results.json) as Markdown, and its section of docs/benchmarks.md."""
import math
import statistics

from engines import ENGINES

BEGIN, END = "<!-- ./dev bench writes from here -->", "<!-- ./dev bench writes to here -->"


def number(x):
    return "" if x is None else f"{x:.0f}" if x >= 1000 else f"{x:.3g}"


def mib(x):
    return "" if x is None else f"{x / 2**20:.1f}" if x < 100 * 2**20 else f"{x / 2**20:.0f}"


def peers_of(row):
    """{engine: ms} of all engines but Braze that gave a right result."""
    return {e: v["ms"] for e, v in row["engines"].items() if e != "braze" and "ms" in v}


def xla_settings(row):
    """The same of XLA with any setting."""
    return {e: ms for e, ms in peers_of(row).items() if e.startswith("xla")}


class Notes:
    """Footnotes, each text once."""

    def __init__(self):
        self.texts = []

    def mark(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return f"<sup>{self.texts.index(text) + 1}</sup>"


def cell(engine, v, quiet, best, notes):
    if "ms" in v:
        text = number(v["ms"]) + ("" if quiet else "?")
        return f"**{text}**" if v["ms"] == best else text
    if "skip" in v:
        return "-"
    why = v.get("error", "no time")
    return "err" + notes.mark(f"{ENGINES[engine].title}: " + why.replace("\n", " ").replace("|", "/")[:160])


def line(name, row, engines, notes):
    e = row["engines"]
    peers = peers_of(row)
    mine, xla = e.get("braze", {}), e.get("xla", {})
    best = min((v["ms"] for v in e.values() if "ms" in v), default=None)
    cells = [name, number(row["floor_s"] * 1e3) if row["floor_s"] else ""]
    cells += [cell(x, e.get(x, {"skip": ""}), row["quiet"], best, notes) for x in engines]
    ms = mine.get("ms")
    cells.append(f"{ms / xla['ms']:.2f}" if ms and "ms" in xla else "")
    if len(engines) > 2:
        for others in (xla_settings(row), peers):
            who = min(others, key=others.get, default=None)
            cells.append(f"{ms / others[who]:.2f} {who}" if ms and who else "")
    cells.append(f"{100 * row['floor_s'] * 1e3 / ms:.0f} %" if ms and row["floor_s"] else "")
    for key, form in (("compile_ms", number), ("compile_peak", mib), ("temporary", mib), ("run_peak", mib)):
        cells += [form(mine.get(key)), form(xla.get(key))]
    return "| " + " | ".join(cells) + " |"


def mean(ratios):
    return math.exp(statistics.fmean(math.log(r) for r in ratios)) if ratios else None


def compared(rows, key, added=0):
    """{workload: Braze's figure / XLA:CPU's} where both have one; `added` to both, so that nothing is not infinitely good."""
    out = {}
    for n, r in rows.items():
        mine, xla = (r["engines"].get(e, {}).get(key) for e in ("braze", "xla"))
        if mine is not None and xla is not None and "ms" in r["engines"]["xla"]:
            out[n] = (mine + added) / (xla + added)
    return out


def against(rows, others, what):
    """Sentences on times against the best of `others` in each row."""
    best = {}
    for n, r in rows.items():
        if found := others(r):
            who = min(found, key=found.get)
            best[n] = (r["engines"]["braze"]["ms"] / found[who], who)
    if not best:
        return []
    slow = ", ".join(f"{n} {ratio:.2f} ({who})" for n, (ratio, who) in best.items() if ratio > 1.05)
    return [f"Braze / {what} of each workload, over {len(best)}: {mean([ratio for ratio, _ in best.values()]):.2f}; "
            f"slower by more than 5 %: {slow or 'none'}."]


def summary(result):
    rows = {n: r for n, r in result["rows"].items() if "ms" in r.get("engines", {}).get("braze", {})}
    out = []
    if ratio := compared(rows, "ms"):
        means = ", ".join(f"{what} {m:.2f}" for what, key, added in
                          (("time", "ms", 0), ("compile time", "compile_ms", 0), ("memory of compiling", "compile_peak", 2**20),
                           ("temporaries", "temporary", 65536)) if (m := mean(list(compared(rows, key, added).values()))))
        slow = ", ".join(f"{n} {r:.2f}" for n, r in ratio.items() if r > 1.05)
        out.append(f"Geometric means of Braze / XLA:CPU over {len(ratio)} workloads: {means} (1 MiB and 64 KiB added to both of the "
                   f"last two); slower by more than 5 %: {slow or 'none'}.")
        training = compared({n: r for n, r in rows.items() if r["family"] == "training"}, "temporary", 65536)
        if training:
            out.append(f"Temporaries of the {len(training)} training steps: {mean(list(training.values())):.2f} of XLA:CPU's.")
    if len(result["engines"]) > 2:
        out += against(rows, xla_settings, "best setting of XLA") + against(rows, peers_of, "best peer")
    bits = {n: r["same_bits"] for n, r in rows.items() if r.get("same_bits") is not None}
    if bits:
        other = ", ".join(n for n, same in bits.items() if not same)
        out.append(f"Same bits on one thread as on {result['machine']['cores used']}: " +
                   (f"not {other}." if other else f"all {len(bits)} workloads."))
    chain = result["rows"].get("ops10000_chain", {}).get("engines", {})
    cost = ", ".join(f"{ENGINES[e].title} {v['compile_ms'] / 10:.3g}" for e, v in chain.items() if "compile_ms" in v)
    if cost:
        out.append(f"Compile time of an unrolled scalar operation (`ops10000_chain`), µs: {cost}.")
    return out


def noise(result):
    loud = sum(not r.get("quiet", True) for r in result["rows"].values())
    if not loud:
        return []
    return [f"**The machine was not quiet**: {loud} of {len(result['rows'])} rows, marked `?`, come from slots in which others "
            "used the processors or the canary ran slowly; times in them may be too long, and ratios rough.", ""]


def render(result):
    engines, notes = result["engines"], Notes()
    head = ["workload", "floor ms"] + [ENGINES[e].title + " ms" for e in engines] + ["Braze / XLA"]
    head += (["Braze / best XLA", "Braze / best peer"] if len(engines) > 2 else []) + ["of floor"]
    head += [f"{what} {who}" for what in ("compile ms", "compiler MiB", "temp MiB", "peak MiB") for who in ("Braze", "XLA")]
    lines = noise(result) + ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, row in result["rows"].items():
        lines.append(line(name, row, engines, notes) if "engines" in row else f"| {name} | not prepared: {row['failed']} |")
    lines += [""] + [f"{s}\n" for s in summary(result)]
    lines += [f"{i + 1}. {t}" for i, t in enumerate(notes.texts)]
    return "\n".join(lines).rstrip() + "\n"


def versions(result):
    """{engine: its versions}, from the rows."""
    out = {}
    for row in result["rows"].values():
        for e, v in row.get("engines", {}).items():
            for what, version in v.get("versions", {}).items():
                out.setdefault(f"{what} {version}" if what != "XLA_FLAGS" else f"{ENGINES[e].title}: {version}", None)
    return ", ".join(out)


def section(result):
    r = result["rates"]
    machine = ", ".join(f"{k} {v}" for k, v in result["machine"].items())
    rates = (f"{r['flops'] / 1e9:.0f} Gflop/s (f32), {r['exps'] / 1e9:.1f} G exp/s, read / write "
             + ", ".join(f"{r['read_' + x] / 1e9:.0f} / {r['write_' + x] / 1e9:.0f} GB/s ({x.upper()})" for x in ("l2", "l3", "dram")))
    command = "./dev bench" + (" --peers" if len(result["engines"]) > 2 else "")
    return f"""{BEGIN}
From `{command}`. Machine: {machine}. Its limits in this run: {rates}.
Versions and flags: {versions(result)}. Two threads each; `MALLOC_MMAP_THRESHOLD_=1073741824
MALLOC_TRIM_THRESHOLD_=4294967295` for all.

Times are medians over {result['rounds']} rounds of {result['slot']} s an engine, interleaved, slots that a canary or the use of
the processors by others shows to be noisy left out. `compile` is the first compilation of the program in a process that
has compiled another one before, `compiler` how much resident memory grew meanwhile; `temp` is what the engine says it needs beside arguments and results; `peak` is how much
resident memory grew in the first run. Floors are lower bounds from the limits above and the work that cannot be
avoided; more than 100 % means that the bound was measured in a noisier moment. Weights are arguments for Braze, XLA
and IREE, constants (which may be packed in advance) for ONNX Runtime, OpenVINO and Inductor.

{render(result)}{END}
"""


def write(path, result):
    """Replaces the section in the page; the rest of the page stays."""
    old = path.read_text()
    before, _, rest = old.partition(BEGIN)
    after = rest.partition(END)[2].lstrip("\n") if rest else ""
    path.write_text(before + section(result) + ("\n" + after if after else ""))
