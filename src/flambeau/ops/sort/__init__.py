"""Ops that need an order: sorts, quantiles, scans, histograms."""
