"""The local worker: a child process that compiles constraints for the process that started it, within hard limits.

`python -m gobo_masks.worker` is started by `gobo_masks.Client` with a socket for its standard input, and by nobody else.
"""

from ._native import _run_worker

if __name__ == "__main__":
    _run_worker()
