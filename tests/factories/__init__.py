"""What several test files make: data, models, packs, boards, evidence."""

HANG_SECONDS = 400  # when a process is taken to hang; on a busy machine, seconds are minutes
