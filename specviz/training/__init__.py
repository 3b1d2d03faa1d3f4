"""Makes what assets/models holds: the embedded `tiny-code` target and draft."""
