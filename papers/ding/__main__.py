"""``python -m papers.ding run FOLDER``: the sensitivity suite, with the paper's claims judged."""

import sys

from papers.running import command

from .reproduction import PAPER

if __name__ == "__main__":
    sys.exit(command(PAPER))
