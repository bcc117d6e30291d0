"""How each kind of test is run: plans, as values. Nothing here starts anything."""
