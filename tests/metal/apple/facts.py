"""Facts about Apple's interfaces: selectors with their types, numbers of enumerations, functions, classes.

    python3 facts.py FOLDER        writes facts.json from the wheels in the folder, for what include/ declares

The wheels come from PyPI:
    pip download --no-deps --only-binary=:all: --platform macosx_14_0_arm64 --platform macosx_10_9_universal2 -d FOLDER
        mlx-metal==0.32.4 pyobjc-framework-Metal==12.2.2 pyobjc-framework-MetalPerformanceShaders==12.2.2
        pyobjc-framework-Cocoa==12.2.2
mlx-metal holds Apple's metal-cpp headers, which name every selector with its C++ types; PyObjC's metadata has the rest,
with the types that Python cannot guess.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TABLE = HERE / "facts.json"
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@dataclass
class Facts:
    """`methods`[class][selector] = types: what comes back, then the arguments; None where they are not known."""

    methods: dict[str, dict[str, list[str | None]]] = field(default_factory=dict)
    enums: dict[str, int] = field(default_factory=dict)
    enum_types: dict[str, str] = field(default_factory=dict)  # by the name of the enumeration
    functions: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)

    def method(self, owner: str, selector: str, types: list[str | None]) -> None:
        self.methods.setdefault(owner, {}).setdefault(selector, types)


def split(text: str) -> list[str]:
    """At commas outside brackets."""
    parts, depth, part = [], 0, ""
    for character in text:
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    return [found for found in [*parts, part] if found.strip()]


def number(text: str, known: dict[str, int]) -> int:
    """An enumerator's value: numbers, names before it, |, &, ~, << and brackets."""
    text = re.sub(r"(?<=[0-9a-fA-F])(?:ULL|ull|UL|U)\b", "", text)
    text = re.sub(r"\b[A-Za-z_]\w*", lambda found: str(known[found[0]]), text)
    if not re.fullmatch(r"[\d\sxXa-fA-F|&~<>()+-]+", text):
        raise ValueError(f"not a constant: {text}")
    return int(eval(text, {"__builtins__": {}}))


# ---- our own headers ----


def plain(kind: str) -> str:
    """An Objective-C type as metal-cpp would say it, without const and protocols."""
    kind = kind.strip()
    if "(^" in kind:
        return "block"
    kind = re.sub(r"\b(?:const|struct|class)\b|__\w+", "", kind)
    kind = re.sub(r"\bid<(\w+)>", r"\1 *", kind)
    kind = re.sub(r"<[^<>]*(?:<[^<>]*>)?[^<>]*>", "", kind)
    kind = re.sub(r"\s+", "", kind)
    return {"T": "NSObject*", "id": "NSObject*", "instancetype": "self"}.get(kind, kind)


def declared_method(declaration: str) -> tuple[str, list[str | None]]:
    """Selector and types of ``- (type)name:(type)argument ...;``."""
    found = re.match(r"[-+]\s*\(", declaration)
    assert found
    back, rest = closed(declaration[found.end() :])
    names, types = [], [plain(back)]
    while part := re.match(r"\s*(\w+):\(", rest):
        kind, rest = closed(rest[part.end() :])
        rest = re.sub(r"^\s*\w+", "", rest)
        names.append(part[1] + ":")
        types.append(plain(kind))
    return ("".join(names) or rest.strip().rstrip(";").strip()), list(types)


def closed(text: str) -> tuple[str, str]:
    """What stands before the bracket that closes, and what after it."""
    depth = 1
    for place, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return text[:place], text[place + 1 :]
    raise ValueError(f"never closed: {text}")


def of_headers(folder: Path = HERE / "include") -> Facts:
    """What our minimal headers declare."""
    facts = Facts()
    for path in sorted(folder.rglob("*.h")):
        text = COMMENT.sub("", path.read_text())
        for kind, owner, body in re.findall(r"@(interface|protocol) (\w+)([^;{}]*?\n.*?)@end", text, re.DOTALL):
            if kind == "interface":
                facts.classes.append(owner)
            for declaration in re.findall(r"^[-+][^;]+;", body, re.MULTILINE):
                facts.method(owner, *declared_method(declaration))
            for attributes, declaration in re.findall(r"@property(\([^)]*\))?\s*([^;]+);", body):
                found = re.fullmatch(r"(.*?)(\w+)", declaration.strip(), re.DOTALL)
                assert found
                facts.method(owner, found[2], [plain(found[1])])
                if "readonly" not in attributes:
                    facts.method(owner, f"set{found[2][0].upper()}{found[2][1:]}:", ["void", plain(found[1])])
        for name, base, body in re.findall(r"typedef enum (\w+) : (\w+) \{(.*?)\}", text, re.DOTALL):
            facts.enum_types[name] = base
            for member in split(body):
                key, value = member.split("=")
                facts.enums[key.strip()] = number(value, facts.enums)
        facts.functions += re.findall(r"^extern [^;(]*?\b(\w+)\(", text, re.MULTILINE)
    return facts


# ---- the wheels ----

INLINE = re.compile(
    r"_(?:MTL|NS)_INLINE\s+(?P<back>[^;{}()]+?)\s+(?:MTL|NS)::(?P<owner>\w+)::\w+\((?P<arguments>[^{}]*?)\)\s*(?:const)?\s*"
    r"\{\s*(?:return\s+)?(?:NS::)?Object::sendMessage(?:Safe)?<[^;]*?>\([^;]*?_(?:MTL|NS)_PRIVATE_SEL\((?P<name>\w+)\)",
    re.DOTALL,
)


def c_plus_plus(kind: str, space: str) -> str:
    """A type of metal-cpp by its name in Objective-C."""
    kind = re.sub(r"\b(?:const|class|struct)\b", "", kind).strip()
    if "(^" in kind or "Block" in kind:
        return "block"
    kind = re.sub(r"\b(?:MTL|NS)::(\w+)", lambda found: found[0].replace("::", ""), kind)
    kind = re.sub(r"\bstd::", "", kind)
    word = re.match(r"_?[A-Z]\w*", kind)
    if word and not word[0].startswith(("MTL", "NS", "CF")):
        kind = kind.replace(word[0], "NSObject" if word[0] == "_Object" else space + word[0])
    return {"bool": "BOOL"}.get(re.sub(r"\s+", "", kind), re.sub(r"\s+", "", kind))


def argument_type(argument: str) -> str:
    """Without its name."""
    return argument if "(^" in argument else re.sub(r"\b\w+\s*$", "", argument.strip())


def of_metal_cpp(files: dict[str, str]) -> Facts:
    """All that metal-cpp says."""
    facts, selectors = Facts(), {}
    for text in files.values():
        for name, selector in re.findall(r"_PRIVATE_DEF_SEL\((\w+),\s*\"([^\"]+)\"\)", text):
            selectors[name] = selector
        facts.classes += re.findall(r"_PRIVATE_DEF_CLS\((\w+)\)", text)
        facts.functions += re.findall(r'^extern "C"[^;(]*?\b(MTL\w+)\(', text, re.MULTILINE)
    for path, text in files.items():
        space = "NS" if "/Foundation/" in path else "MTL"
        for found in INLINE.finditer(text):
            types = [c_plus_plus(found["back"], space)]
            types += [c_plus_plus(argument_type(argument), space) for argument in split(found["arguments"])]
            facts.method(space + found["owner"], selectors[found["name"]], list(types))
        known: dict[str, int] = {}
        for base, name, body in re.findall(r"_(?:ENUM|OPTIONS)\(([\w:]+),\s*(\w+)\)\s*\{(.*?)\}", text, re.DOTALL):
            facts.enum_types[space + name] = c_plus_plus(base, space)
            for member in split(COMMENT.sub("", body)):
                key, _, value = member.partition("=")
                try:
                    known[key.strip()] = number(value, known)
                except (KeyError, ValueError, SyntaxError):
                    continue  # counted from the one before it, or a name from elsewhere: not ours
        facts.enums |= {space + key: value for key, value in known.items()}
    return facts


def of_pyobjc(text: str) -> Facts:
    """What PyObjC's metadata of one framework says."""
    facts = Facts()
    for name, value in re.findall(r"\$(\w+)@(-?\d+)(?=\$)", text):
        facts.enums[name] = int(value)
    for owner, selector, details in re.findall(
        r'\br\(\s*b"(\w+)",\s*b"([^"]+)",\s*(\{.*?\})\s*,?\s*\)\n', text, re.DOTALL
    ):
        types: list[str | None] = [None] * (selector.count(":") + 1)
        if re.search(r'"retval":\s*\{"type":\s*b?"Z"', details):
            types[0] = "BOOL"
        for place in re.findall(r'(\d+):\s*\{"type":\s*b?"Z"', details):
            types[int(place) - 1] = "BOOL"
        facts.method(owner, selector, types)
    for owner, selector in re.findall(r'registerNewKeywordsFromSelector\(\s*"(\w+)",\s*b"([^"]+)"', text):
        facts.method(owner, selector, [None] * (selector.count(":") + 1))
    for owner, selector in re.findall(r'registerNewKeywords\(\s*"(\w+)",\s*\([^)]*\),\s*"(\w+_)"', text):
        facts.method(owner, selector.replace("_", ":"), [None] * (selector.count("_") + 1))
    facts.classes = sorted(facts.methods)
    return facts


def of_wheels(folder: Path) -> tuple[list[Facts], list[str]]:
    """Facts of every wheel in the folder, the best source first, and the names of the wheels."""
    found: list[Facts] = []
    names = []
    for path in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(path) as wheel:
            inside = {
                name: wheel.read(name).decode()
                for name in wheel.namelist()
                if ("/metal_cpp/" in name and name.endswith(".hpp")) or name.endswith("/_metadata.py")
            }
        headers = {name: text for name, text in inside.items() if name.endswith(".hpp")}
        if headers:
            found.insert(0, of_metal_cpp(headers))
        found += [of_pyobjc(text) for name, text in inside.items() if name.endswith("_metadata.py")]
        names.append("-".join(path.name.split("-")[:2]))
    return found, names


def table(ours: Facts, sources: list[Facts], names: list[str]) -> dict[str, Any]:
    """Of what we declare, all that the sources know."""
    made: dict[str, Any] = {"from": names, "methods": {}, "enums": {}, "enum_types": {}, "functions": [], "classes": []}
    for source in sources:
        for owner, methods in ours.methods.items():
            for selector in methods:
                if selector in source.methods.get(owner, {}):
                    made["methods"].setdefault(owner, {}).setdefault(selector, source.methods[owner][selector])
        for key in ours.enums.keys() & source.enums.keys():
            made["enums"].setdefault(key, source.enums[key])
        for key in ours.enum_types.keys() & source.enum_types.keys():
            made["enum_types"].setdefault(key, source.enum_types[key])
        made["functions"] += set(ours.functions) & set(source.functions) - set(made["functions"])
        made["classes"] += set(ours.classes) & set(source.classes) - set(made["classes"])
    made["functions"].sort()
    made["classes"].sort()
    return made


def main() -> None:
    sources, names = of_wheels(Path(sys.argv[1]))
    if not sources:
        raise SystemExit(f"{sys.argv[1]} holds no wheel; see the top of this file.")
    text = json.dumps(table(of_headers(), sources, names), indent=1, sort_keys=True)
    TABLE.write_text(re.sub(r"\[\s+([^\[\]]*?)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m[1]) + "]", text) + "\n")


if __name__ == "__main__":
    main()
