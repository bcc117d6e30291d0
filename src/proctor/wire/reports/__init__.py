"""Other tools' reports: a reader or a writer for each format, and what they share."""
