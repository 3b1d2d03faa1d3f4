"""Where models come from, and how they take one step."""
