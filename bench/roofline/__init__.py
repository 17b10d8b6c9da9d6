"""The share of this machine's limits that every operator reaches: `python -m bench.roofline`.

`machine.c` measures the limits: bytes read a second from memory of several kinds, and multiply-adds a second in
float32 and in int8 with every instruction set this processor has. `operators.c` measures the engine's operators in
the full model's shapes. `model.py` puts both together, `plot.py` draws them.
"""
