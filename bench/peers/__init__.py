"""Other engines beside ours, in turn (A B A B ...), on the same shapes of random weights: `python -m bench.peers`.

llama.cpp is built from its source into the cache folder (`--build`); transformers comes with `pip install
'leggio[parity]'`. A peer that is missing is left out, and the report says how to get it. What is measured stands in
`work.py`, the processes that measure in `llama_cpp.py`, `worker.py` (ours) and `torch_worker.py`; `compare.py` runs
them in turn, `page.py` makes docs/performance.md from the figures.
"""
