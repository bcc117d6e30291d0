"""Values to text. Pure: no clock, no file, no terminal."""
