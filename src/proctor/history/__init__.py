"""What earlier runs say: a store of results for each project, and the words that follow from it."""
