"""Implementations in Triton, for devices that its driver runs on; written for Triton 3.x, untested on hardware."""
