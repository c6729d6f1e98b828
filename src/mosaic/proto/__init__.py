"""The daemon's protocol: `trainer.proto`, and the code that `make proto` generates from it."""
