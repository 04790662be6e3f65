"""Lines of words between single spaces, each percent-encoded, so that a word may be empty or hold any text."""

import sys
import threading
from urllib.parse import quote, unquote

# The descriptor is kept for the protocol; whatever else prints goes to stderr.
_out = sys.stdout
sys.stdout = sys.stderr
_out_lock = threading.Lock()


def split(line):
    return [unquote(word) for word in line.rstrip("\n").split(" ")]


def tell(*words):
    """Writes one line at once, whichever thread it comes from."""
    line = " ".join(quote(str(word), safe="") for word in words)
    with _out_lock:
        _out.write(line + "\n")
        _out.flush()


def event(name, *values):
    tell("!", name, *values)
