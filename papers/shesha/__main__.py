"""``python -m papers.shesha run FOLDER``: the experiments of the paper, and its claims judged."""

import sys

from papers.running import command

from .reproduction import PAPER

if __name__ == "__main__":
    sys.exit(command(PAPER))
