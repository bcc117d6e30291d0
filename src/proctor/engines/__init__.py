"""One run over many machines: shards, given to whatever runs functions elsewhere."""
