# SPDX-License-Identifier: Apache-2.0
"""How much this process's resident memory grows at most. Standard library, Linux."""
import gc


def resident(key):
    """Bytes by a line of /proc/self/status: VmRSS (now), VmHWM (the most since the last reset_peak())."""
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith(key):
                return int(line.split()[1]) * 1024
    return 0


def reset_peak():
    """Lets the peak of resident memory start anew; gives what is resident now, None if that can't be."""
    gc.collect()
    try:
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
    except OSError:
        return None
    return resident("VmRSS")


def grown(base):
    """Bytes from what reset_peak() gave to the peak since."""
    return None if base is None else max(0, resident("VmHWM") - base)
