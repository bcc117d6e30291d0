"""What tests share: projects on disk, made runs and reports, the reading ends of channels."""
