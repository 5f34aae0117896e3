"""The stability suite: what the paper on geometric stability shows, on made data and on models trained here."""
