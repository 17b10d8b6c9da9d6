"""Which Python modules go into the bundle.

py2app follows import statements, so it finds the standard library by itself. Packages that hold data or native code,
or that are imported by name at run time, are copied whole and named here with the reason.
"""

from __future__ import annotations

PACKAGES = {
    "leggio": "the window, with its translations",
    "uocr": "the engine's package, with libuocr.dylib, kernels, built-in model and samples",
    "PySide6": "native; plugins beside it",
    "shiboken6": "native; loaded by PySide6",
    "PIL": "native; file formats are imported by name",
    "anyio": "back ends are imported by name",
    "cffi": "reads C declarations",
    "docx": "templates beside it; imported at the first export",
    "filelock": "imported by huggingface_hub at first use",
    "fsspec": "imported by huggingface_hub at first use",
    "h11": "below httpcore2",
    "httpcore2": "back ends are imported by name",
    "httpx2": "downloads",
    "huggingface_hub": "parts are imported by name",
    "idna": "tables are imported by name",
    "latex2mathml": "tables beside it; below ziamath",
    "lxml": "native; below docx",
    "markdown_it": "Markdown to HTML",
    "mdurl": "below markdown_it",
    "nh3": "native",
    "numpy": "native",
    "packaging": "version numbers, for huggingface_hub",
    "pi_heif": "libheif and libde265 beside it",
    "platformdirs": "one module for each system, imported by name",
    "pycparser": "below cffi",
    "pymupdf": "native; libmupdf beside it",
    "rapidfuzz": "native; chosen by processor at run time",
    "tokenizers": "native",
    "tqdm": "below huggingface_hub",
    "truststore": "certificates of the system's keychain",
    "yaml": "below huggingface_hub",
    "ziafont": "fonts beside it; below ziamath",
    "ziamath": "fonts beside it; imported at the first formula",
}
INCLUDES = {
    "_cffi_backend": "imported by name in cffi",
    "_pi_heif": "imported at the first HEIC picture",
    "typing_extensions": "a single module; below anyio",
    "sqlite3": "history, imported when it is opened",
}
LEFT_OUT = {
    "annotated_doc": "the command line",
    "click": "the command line",
    "pygments": "the command line",
    "rich": "the command line",
    "shellingham": "the command line",
    "typer": "the command line",
    "fitz": "an old name of pymupdf",
    "hf_xet": "another way of transfer; ours resumes plain downloads",
    "annotated_types": "checks of settings that only other packages make",
    "pydantic": "checks of settings that only other packages make",
    "pydantic_core": "checks of settings that only other packages make",
    "typing_inspection": "checks of settings that only other packages make",
    "_yaml": "an old name inside yaml",
}
"""In the wheels that the bundle's packages ask for, and not in the bundle."""
DEVELOPMENT = (
    "IPython", "_pytest", "cython", "dask", "distributed", "fastai", "gradio", "hypothesis", "jinja2", "keras",
    "matplotlib", "mpmath", "mypy", "networkx", "numba", "onnxruntime", "pandas", "pip", "pkg_resources", "pytest",
    "safetensors", "scipy", "setuptools", "sympy", "tensorflow", "torch", "transformers", "wheel",
)
"""Imported by parts of packages that Leggio does not use; a Python that has them must not lend them."""
EXCLUDES = (*LEFT_OUT, *DEVELOPMENT, "tkinter", "test", "idlelib", "lib2to3", "turtledemo")
