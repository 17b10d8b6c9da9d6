"""How the built-in model is made: data, model, trainer, exporter, evaluation. Recipe and results:
README.md."""
