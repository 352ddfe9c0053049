"""Files: crash-safe writers for files and folders, one reader with schema and version check, tokens from files."""
