"""Makes the cffi binding of libuocr out of its headers: declare.py HEADER... OUTPUT.

The headers are plain C11 with a handful of directives; what cffi cannot read (directives, attributes, extern "C",
comments) is removed, constants are kept as Python integers beside the binding. cffi parses the declarations here, once:
at run time that took longer than to open a model.
"""

import re
import sys
from pathlib import Path

MODULE = "uocr._declarations"


def declarations(header: str) -> tuple[str, dict[str, int]]:
    """(C declarations cffi understands, integer macros) of one header."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    text = re.sub(r"#if(def)? (defined\(_WIN32\)|__cplusplus).*?#endif", "", text, flags=re.S)
    macros = {name: int(value) for name, value in re.findall(r"^#define (UOCR_\w+) (\d+)$", text, flags=re.M)}
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    text = text.replace("UOCR_API ", "")
    for name, value in macros.items():
        text = re.sub(rf"\b{name}\b", str(value), text)
    return re.sub(r"\n\s*\n+", "\n", text).strip() + "\n", macros


def main(arguments: list[str]) -> int:
    import cffi

    *headers, output = map(Path, arguments)
    text, macros = "", {}
    for header in headers:
        part, constants = declarations(header.read_text("utf-8"))
        text += part
        macros |= constants
    ffi = cffi.FFI()
    ffi.cdef(text)
    ffi.set_source(MODULE, None)  # ABI mode: tables in Python, nothing to compile
    ffi.emit_python_code(str(output))
    binding = output.read_text("utf-8")
    output.write_text(
        '"""Generated from the C headers by packaging/declare.py at build time."""\n'
        f"{binding}\nMACROS = {macros!r}\n",
        "utf-8",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
