"""Feed-forward and attention blocks in plain NumPy, exactly as defined, and their export to torch and ONNX."""

from hardmax.transformer.blocks import AttentionLayer as AttentionLayer
from hardmax.transformer.blocks import Block as Block
from hardmax.transformer.blocks import FeedForwardLayer as FeedForwardLayer
