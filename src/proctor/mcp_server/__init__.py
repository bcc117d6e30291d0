"""proctor for agents: its tools over the Model Context Protocol. Only `server` knows the SDK."""
