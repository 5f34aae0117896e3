"""What papers print and claim, beside what this library computes; not part of the wheel."""
