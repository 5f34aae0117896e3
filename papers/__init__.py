"""What papers print and claim, next to what this library computes; not part of the wheel."""
