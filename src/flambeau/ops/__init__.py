"""The operations, a module a family: functions that Tensor has as methods (table.py)."""
