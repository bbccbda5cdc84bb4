"""Handlers of Keras layers, one file per op family."""
