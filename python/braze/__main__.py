# SPDX-License-Identifier: Apache-2.0
"""python -m braze doctor"""
import sys

from braze import doctor

if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["doctor"]):
        print("usage: python -m braze doctor", file=sys.stderr)
        sys.exit(2)
    sys.exit(doctor.main())
