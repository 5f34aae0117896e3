"""What several test files make: data, models, packs, boards, evidence."""
