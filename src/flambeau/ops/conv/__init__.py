"""Ops that slide a window: convolutions, pools, resizing, sampling."""
