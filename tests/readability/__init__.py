"""How readable the emitted model code is, in numbers: what is measured, of which models, and the committed results."""
