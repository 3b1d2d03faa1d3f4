"""The algorithm: speculative and plain decoding as iterators of rounds."""
