"""The full-screen views, one module each."""
