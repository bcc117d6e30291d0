"""One run on many machines: plans that several runs share, and one result from all of them."""
