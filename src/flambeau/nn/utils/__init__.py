"""What goes on with parameters and sequences beside layers, as in torch.nn.utils."""
