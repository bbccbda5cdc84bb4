"""Changing the resolution of images and signals."""

from migrate.graph.ops import declare

declare("interpolate", "torch.nn.functional:interpolate")
declare("grid_sample", "torch.nn.functional:grid_sample")
declare("affine_grid", "torch.nn.functional:affine_grid")
declare("roi_align", "runtime.functional.sample:roi_align")
declare("deform_conv", "runtime.functional.sample:deform_conv", learns=(1, 3))
declare("resize", "runtime.functional.resample:resize")
