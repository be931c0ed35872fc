"""The operations, one module for each family; table.py makes them methods of Tensor."""
