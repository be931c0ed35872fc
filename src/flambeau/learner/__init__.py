"""Learner: a model, an optimiser and batches into a trained model, by runs that survive being killed."""
