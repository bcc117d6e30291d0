"""`proctor watch`: tests run again when files change."""
