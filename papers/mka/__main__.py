"""``python -m papers.mka run FOLDER``: the manifold suite, with the paper's claims judged."""

import sys

from papers.running import command

from .reproduction import PAPER

if __name__ == "__main__":
    sys.exit(command(PAPER))
