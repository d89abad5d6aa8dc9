"""Triton kernels for CUDA, each beside the plain PyTorch rule that says the same: one program a tree, no wait for the device.

They take uniforms in the same layout and draw by the same inverse CDFs, so the same checks apply to them.  With
TRITON_INTERPRET=1 they run on a CPU, slowly: that is how they are tested where there is no GPU.  Chosen by ``use.py``.
"""
