"""What a trace means: acceptance, speed, the figures of a run. Plain numbers in, plain numbers out."""
