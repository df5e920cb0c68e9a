"""The names of what may run a model on a CPU."""

# oneDNN's products on packed weights, torch's own products, transformers' whole forward pass;
# auto tries the first two when a model is loaded
FORWARDS = ("auto", "packed", "plain", "transformers")
