"""Records a call as a program that is replayed without its Python code."""
