"""The strip below: memory by category against the budget, tokens and their rate, the model in use."""
