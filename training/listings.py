"""Lines of listings: program text in many notations, commands and what they print.

Real listings have far more marks a line than running text: brackets in brackets, quotes, escapes, operators, pipes.
Which mark comes next cannot be guessed, so that it must be read. Lines come from a grammar whose words are dictionary
words and random identifiers. A line is text as a typewriter sets it: spaces before it, and several between columns.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable

from training.sources import Sources
from training.technical import Technical

_SLOT = re.compile("‹([a-zA-Z]+)›")
_DEEPEST = 3
"""How far terms are nested in a line."""

_SOUP = "!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~"
_CLOSED = {"{": "}", "[": "]", "(": ")"}

_PARTS: dict[str, tuple[str, ...]] = {
    "t": (
        *("‹n›", "‹n›", "‹num›", "‹s›", "‹n›(‹a›)", "‹n›(‹a›)", "‹n›[‹t›]", "‹n›[‹num›:‹n›]", "‹n›.‹t›", "‹n›->‹t›"),
        *("‹n›::‹t›", "!‹t›", "&‹t›", "*‹t›", "-‹t›", "~‹t›", "$‹n›"),
        *("@‹t›", "(‹o›)", "(‹o›)", "[‹a›]", "{‹a›}", "(‹a›)"),
        *("(‹type›)‹t›", "(‹type› *)‹t›", "‹n›<‹t›>", "‹n›++", "‹n› ? ‹t› : ‹t›", "%{‹n›}", "‹n›['‹w›']", "‹n›?.‹t›"),
    ),
    "a": (
        *("", "‹t›", "‹t›", "‹t›, ‹t›", "‹t›,‹t›"),
        *("‹t›, ‹t›, ‹t›", "‹n›=‹t›", "‹n›=‹t›, ‹n›=‹t›", "‹t› ‹t›", "&‹n›, ‹t›"),
    ),
    "o": ("‹t› ‹op› ‹t›", "‹t› ‹op› ‹t›", "‹t›‹op›‹t›", "‹o› ‹op› ‹t›"),
    "op": tuple(
        "+ - * / % << >> & | ^ && || == != < > <= >= = += -= |= &= <> =~ := -> ** // ?? .. <=> === !~ and or in".split()
    ),
    "type": tuple("int char void long unsigned double bool size_t u8 uint32_t float auto string struct‹i› T".split()),
    "num": (
        *("0", "1", "2", "-1", "‹i›", "‹i›", "0x‹x›"),
        *("0x‹x›", "#‹x›", "‹i›.‹i›", "-‹i›.‹i›f", "‹i›e-‹i›", "0b‹i›", "‹i›UL"),
    ),
    "s": (
        *('"‹w›"', "'‹w›'", '"‹w› ‹e›"', '"‹e›‹w›"', "'‹e›'", '"‹w›: ‹e›‹e›"'),
        *("`‹w›`", '""', "''", '"‹w›/‹w›"', "'‹w›-‹i›'"),
        *('"‹e›"', '"\\"‹w›\\""', "'‹w› ‹w›, ‹w›'", 'f"{‹n›!r:>‹i›}"'),
        *('r"‹e›‹w›"', "b'‹e›‹e›'", '"[‹w›] ‹e› (‹e›)"', "'%'"),
    ),
    "e": tuple(
        r"\n \t \\ \" \0 \x1b[0m %s %d %-10s %5.2f {} {0} $1 ${‹n›} \' \r %% \u00e9 %.*s \d+ [^/]* .* \s*$ \\n".split()
    ),
    "c": ("‹w›", "‹w› ‹w›", "‹w› ‹w› ‹w›", "‹w› ‹w›, ‹w› ‹w›", "‹w› (‹w› ‹w›)", "‹W›: ‹w› ‹n›()"),
    "f": (
        *("-‹l›", "-‹l›‹l›", "-‹l›‹l›‹l›", "-‹l› ‹i›", "--‹w›", "--‹w›-‹w›"),
        *("--‹w›=‹s›", "--‹w›=‹p›", "-‹L›‹p›", "+‹l›", "-‹l› ‹s›"),
    ),
    "v": (
        *('"$‹n›"', "${‹n›:-‹n›}", "${‹n›%%.*}", "${‹n›##*/}", "${‹n›//‹w›/‹w›}"),
        *('"${‹n›[@]}"', "$(‹k›)", "`‹w› ‹f›`", "‹p›"),
        *("*.‹l›‹l›", "‹w›@‹w›:‹p›", "'‹e›‹w›‹e›'", "{‹n›,‹n›}", "‹s›", "‹w›"),
        *("~/.‹w›", "$‹i›", '"$@"', "$((‹n› + ‹i›))", "‹p›"),
    ),
    "k": (
        *("‹tool›", "‹tool› ‹f›", "‹tool› ‹v›", "‹tool› ‹f› ‹v›"),
        *("‹tool› ‹f› ‹f› ‹v›", "‹w› ‹f› ‹v› ‹v›", "‹w› ‹w› ‹f›"),
        *("sed ‹f› 's/‹e›/‹w›/g'", "awk -F: '{ print $‹i›, $NF }'", "grep ‹f› '^‹e›‹w›'", "find ‹p› -name '*.‹w›'"),
    ),
    "code": (
        *("‹n› = ‹t›;", "if (‹o›) {", "‹n›(‹a›);", "def ‹n›(‹a›):", "‹n› = ‹v›"),
        *("/* ‹c› */", "}", "return ‹t›;", "# ‹c›", "‹k›"),
    ),
    "tool": tuple(
        "grep sed awk sort cut head tail xargs tr wc uniq tee find ls cat cp test echo tar ssh ‹w› ‹w›".split()
    ),
    "m": (
        *("‹l›_{‹l›+1}", "‹l›^‹i›", "\\frac{‹l›}{‹i›‹l›}", "\\‹w›", "\\sqrt{‹l›}"),
        *("(‹l›|‹l›)", "‹l›_‹i›", "‹m› + ‹m›", "‹m›=‹m›"),
        *("\\‹w›{‹m›}", "{‹m›}^{‹m›}", "‹m› \\le ‹m›", "‹l›'", "\\left[‹m›\\right]", "‹m›,\\,‹m›"),
    ),
    "re": (
        *("[a-z]+", "[^‹mark›]*", "[0-9_]?", "(‹w›|‹w›)", "(?:‹w›)", "\\d"),
        *("\\s+", "\\w*", ".{‹i›,‹i›}", "‹n›", "\\‹mark›", "(?=‹w›)"),
        *("[[:alpha:]]", "\\1", "‹re›‹re›", "‹re›‹re›", "(‹re›)?", "(?P<‹n›>‹re›)", "\\b‹w›\\b", "‹re›|‹re›"),
    ),
    "reg": tuple(
        "%rax %rdi %esi r0 r1 sp eax [rbp-0x‹x›] $0x‹x› (%rsi,%rax,8) #‹i› [sp,#‹i›] -0x‹x›(%rbp) w‹i›".split()
    ),
    "act": tuple("mov lea push call jmp jne add sub xor cmp test ldr str movq ret".split()),
}

_ATOMS = ("‹n›", "‹n›", "‹num›", "‹s›")
_SHALLOW = {"t": _ATOMS, "a": _ATOMS, "o": _ATOMS, "m": ("‹l›", "‹i›"), "re": ("‹w›", "‹n›")}
"""What parts that hold others of their kind become where they are nested deepest."""

NOTATIONS: dict[str, tuple[str, ...]] = {
    "c": (
        *("‹n› = ‹t›;", "‹o›;", "‹n›(‹a›);", "‹n›->‹n›[‹t›] = ‹t›;"),
        *("if (‹o›) {", "if (!‹n› || ‹o›) return ‹t›;", "‹n› += ‹t›;"),
        *("for (‹type› i = 0; i < ‹t›; i++) {", "while (*‹n›++ != '\\0') {"),
        *("static ‹type› *‹n›[‹num›] = { ‹a› };", "};"),
        *("‹type› ‹n›(‹type› *‹n›, ‹type› ‹n›) {", "#define ‹N›(‹n›) (‹o›)"),
        *("#include <‹n›.h>", '#include "‹n›/‹n›.h"'),
        *("case '‹e›': return ‹t›;", "} else if (‹o›) {", "/* ‹c› */"),
        *("‹n›(‹a›); // ‹c›", " * @‹w› ‹n› ‹c›", "return ‹o›;"),
        *("std::‹n›<‹type›, ‹type›> ‹n›{‹a›};", 'printf("‹e›: ‹e›\\n", ‹t›);', "#ifdef __‹N›__"),
        *("‹n›: {‹a›},", "goto ‹n›;"),
    ),
    "shell": (
        *("‹k›", "$ ‹k›", "# ‹k›", "sudo ‹k›", "‹k› | ‹k›"),
        *("‹k› | ‹k› | ‹k›", "‹k› > ‹p›", "‹k› >> ‹p› 2>&1", "‹k› < ‹p›", "‹k› &"),
        *("‹k› 2>/dev/null || exit ‹i›", "‹k› && ‹k› \\", "‹N›=‹v›", "export ‹N›=‹s›"),
        *("if [ -z ‹v› ]; then", "# ‹c›", "done", "fi"),
        *("if [ ! -d ‹v› ] && ‹k›; then", "[[ $‹n› =~ ‹v› ]] && ‹k›", "for ‹n› in ‹v› ‹v›; do"),
        *("while read -r ‹n›; do", "esac"),
        *("‹n›) ‹k› ;;", "*) ‹k› ;;", "‹n›() {", "cat <<'EOF' > ‹p›"),
        *("set -‹l›‹l› -o ‹w›", "trap '‹k›' ‹N›", "‹k› <(‹k›) ‹v›"),
    ),
    "script": (
        *("‹n› = ‹t›", "def ‹n›(self, ‹n›=‹t›, *‹n›, **‹n›):", "return [‹t› for ‹n› in ‹t› if ‹o›]"),
        *("if ‹o›:", "@‹n›.‹n›(‹a›)"),
        *("print(f‹s›, ‹n›[‹num›:‹num›])", "‹n›: dict[str, ‹n›] = {‹s›: ‹t›, ‹s›: ‹t›}"),
        *("‹n› = lambda ‹n›: ‹o›", "# ‹c›"),
        *("my ($‹n›, @‹n›) = @_;", "$‹n›->{‹n›}[‹num›] =~ s/‹re›/‹w›/‹l›;"),
        *("foreach my $‹n› (sort keys %{$‹n›}) {", '"""‹c›."""'),
        *("const { ‹n›, ‹n› } = await ‹n›(‹t›);", "‹n›.map((‹n›) => ‹o›);"),
        *("$‹n› = array(‹s› => ‹t›, ‹s› => $‹n›);", "‹n›[‹o›, ...]"),
        *("‹n›.each do |‹n›, ‹n›|", "let mut ‹n›: &'a Vec<‹n›> = ‹n›::‹n›(&‹t›)?;"),
        *("assert ‹o›, ‹s›", 'print $‹n› . ‹s› . "\\n";'),
    ),
    "tex": (
        *("\\‹w›{‹w›}", "\\‹w›[‹w›=‹i›pt]{‹w›-‹w›}", "\\newcommand{\\‹w›}[‹i›]{\\‹w›{#1}\\‹w› #2}"),
        *("\\begin{‹w›}[‹l›]", "\\end{‹w›}"),
        *("\\begin{‹w›}{|‹l›|‹l›|@{}r}", "$‹m›$ ‹w› \\[‹m›\\]"),
        *("‹w› & ‹w› & $‹m›$ \\\\ \\hline", "\\def\\‹w›#1#2{{\\‹l›‹l› #1}\\/--#2}"),
        *("\\usepackage[‹w›,‹w›=‹w›]{‹w›} % ‹c›", "% ‹c›"),
        *("‹w›~\\ref{‹w›:‹w›}, ``‹w›'' \\cite{‹w›‹i›,‹w›}", "\\‹w›{-‹i›.‹i›\\‹w›}%"),
        *("\\expandafter\\‹w›@‹w›\\csname ‹w›\\endcsname", "\\item[\\texttt{\\‹w›}] ‹c›"),
        "\\(‹m›\\) & \\multicolumn{‹i›}{‹l›}{‹w›} \\\\",
        *("\\draw[‹w›,->] (‹i›,‹i›.‹i›) -- node {$‹m›$} (‹w›);", "\\‹w›*{‹W› ‹w›}\\label{‹w›:‹w›}"),
        *("{\\‹w›\\‹w› ‹w›\\par}", "$$‹m›$$"),
    ),
    "make": (
        *("‹n›: ‹n›.o ‹n›.c $(‹N›)", "    $(‹N›) $(‹N›FLAGS) -o $@ $< -l‹n›", "‹N› := $(shell ‹k›)"),
        *("‹N› ?= ‹p›", "‹N› += -‹L›‹n›"),
        *("‹N› = $(patsubst %.‹l›,$(‹n›)/%.o,$(‹N›))", ".PHONY: ‹n› ‹n›", "ifeq ($(‹N›),‹n›)"),
        *("%.‹l›: %.‹l›‹l› | $(‹N›)/", "endif"),
        *("    @‹k› $(@D)/$*.‹l› || true", "    -rm -f $@.tmp *~ # ‹c›"),
        *("-include $(‹N›:.c=.d)", "    cd $(‹N›) && ‹k›; \\"),
    ),
    "settings": (
        *("[‹n›]", "[‹n›.‹n›]", '[‹n› "‹n›"]', "‹n› = ‹v›", "‹n› = ‹num›"),
        *("‹n›.‹n›=‹s›;", "; ‹c›", "## ‹c›", "#‹n›=‹p›", "- ‹n›: ‹s›"),
        *("‹n›: {‹n›: ‹num›, ‹n›: [‹a›]}", "‹n›: &‹n› ‹u›", "‹W›: ‹n› (>= ‹i›.‹i›-‹i›), ‹n› | ‹n›"),
        *("‹n› ‹p› {", "<‹W› ‹p›>", "‹N›=‹p›:$‹N›"),
        *("deb [arch=‹n›] ‹u› ‹n› ‹n›", "*/‹i› ‹i› * * ‹i› ‹k›"),
        *('‹N›=="‹n›", ‹N›{‹n›}="‹i›*", RUN+="‹p›"', "    - !‹W› {‹n›: *‹n›}"),
        *("UUID=‹x›-‹x› ‹p› ‹n› ‹n›,‹n›=‹i› 0 ‹i›", "‹n›:x:‹i›:‹i›:‹W›,,,:‹p›:/bin/‹w›"),
        *("%‹n› ALL=(ALL:ALL) NOPASSWD: ‹p›", "</‹W›>"),
    ),
    "markup": (
        *('<‹n› ‹n›="‹n›">', "<‹n› ‹n›=\"‹num›\" ‹n›='‹n›'/>", "</‹n›>", "<‹n›>‹c›</‹n›>"),
        *("<!-- ‹c› -->", '<?xml version="1.0"?>', "</‹n›></‹n›>"),
        *("<‹n›:‹n›><![CDATA[‹o›]]></‹n›:‹n›>", "&lt;‹n›&gt; &amp; &#‹i›; <b>‹n›</b>"),
        *('<a href="‹u›">[‹n›]</a>', '<‹n› class="‹n› ‹n›-‹i›"><br/>'),
        *(".‹n› > #‹n›:‹n›::after { ‹n›: ‹i›px !important; }", "<!ENTITY % ‹n› SYSTEM '‹n›.dtd'>%‹n›;"),
        "{% if ‹o› %}{{ ‹n›|‹n› }}{% endif %}",
    ),
    "json": (
        *('"‹n›": "‹n›",', '"‹n›": ‹num›,', '"‹n›": {'),
        *('"‹n›": [', '{"‹n›":"‹n›","‹n›":[‹i›,‹i›]},', '"‹n›": ["‹n›", "‹n›"],'),
        *('"‹n›": "‹e›‹w›\\n‹e›",', "[‹i›.‹i›, -‹i›, ‹i›.‹i›],", '"‹n›": null, "‹n›": true'),
        *('"$‹n›": "#/‹w›/‹w›",', '"‹p›": {"‹n›": {}}'),
    ),
    "patch": (
        *("+‹code›", "-‹code›", "+    ‹code›", "-    ‹code›"),
        *(" ‹code›", "@@ -‹i›,‹i› +‹i›,‹i› @@ ‹n›(‹n›)", "--- a/‹n›/‹n›.‹l›", "> ‹code›"),
        *("+++ b/‹n›/‹n›.‹l›", "diff --git a/‹n› b/‹n›", "index ‹x›..‹x› 100644"),
        *("‹i›,‹i›c‹i›", "< ‹code›", "\\ No newline at end of file"),
    ),
    "assembler": (
        *("‹act›    ‹reg›, ‹reg›", "‹act›   ‹reg›,‹reg›", ".‹n›:"),
        *(".globl  ‹n›", '.section .‹n›,"a‹l›",@‹n›', "‹act› ‹reg›, ‹reg› ; ‹c›"),
        *("‹x›:  ‹x› ‹x› ‹x›   ‹act›  ‹reg›,‹reg›", "%‹i› = ‹act› i32* @‹n›, !‹n› !‹i›"),
        *(".L‹i›: ‹act› <‹n›+0x‹x›>", "‹act›    ‹reg›  # ‹c›"),
    ),
    "lisp": (
        *("(‹n› ‹n› (‹n› ‹num› '‹n›))", "(defun ‹n›-‹n› (‹n› &optional ‹n›)"),
        *("(let* ((‹n› (‹n› ‹s›)) (‹n› '(‹n› . ‹n›)))", ";; ‹c›"),
        *("(setq ‹n› #'‹n›)) ; ‹c›", "`(‹n› . ,@(‹n› :‹n› ‹num›))"),
        *('(‹n›-‹n›-set (kbd "C-‹l› M-‹mark›") (‹n›))', "((‹n›? ‹n›) (‹n›! ‹n› #t))"),
    ),
    "query": (
        *('SELECT ‹n›.‹n›, COUNT(*) AS "‹n›" FROM ‹n› ‹l›', "WHERE ‹n›.‹n› <> '‹w›%' AND ‹n› >= ‹num›"),
        *("-- ‹c›", "‹n› VARCHAR(‹i›) DEFAULT '‹n›',"),
        *("INSERT INTO `‹n›` (‹n›, ‹n›) VALUES (‹num›, '‹n›''‹n›');", "AND (‹n› IN (‹num›, ‹num›) OR ‹n› IS NOT NULL)"),
        "mysql> USE ‹n›;",
        *("CREATE INDEX ‹n› ON ‹n› (‹n›(‹i›), ‹n› DESC);", "ORDER BY ‹i›, ‹n›::‹n› LIMIT ‹i›;"),
        "GROUP BY ‹l›.‹n› HAVING max(‹n›) < ‹num›;",
    ),
    "pattern": (
        *("^‹re›‹re›‹re›$", "/‹re›‹re›/‹l›", "‹n› ~ '‹re›‹re›‹re›'"),
        *('<‹n›> ::= <‹n›> "‹mark›" | { ‹n› } ;', '‹n› = [ ‹n› ] ‹n› *( "‹mark›" ‹n› )'),
        *("‹n› [-‹l›|--‹n›] [-‹l› ‹n›]... <‹n›> [‹n› ...]", "%-‹i›s|%0‹i›d %Y-%m-%dT%H:%M:%S%z"),
        *("s‹mark›‹re›‹mark›‹w›‹mark›g", "‹re›‹re›‹re›‹re›"),
    ),
    "soup": ("‹soup›", "‹soup›", "‹soup› ‹n› ‹soup›"),
    "log": (
        *("‹i›:‹i›:‹i› ‹w› ‹n›[‹i›]: ‹c›", "[   ‹i›.‹i›] ‹n›: ‹c›", "‹p›:‹i›:‹i›: error: ‹c›"),
        *("‹p›:‹i›: warning: ‹s› ‹w›", "W: ‹n›=‹t›, ‹c›"),
        *("(‹i›%) ‹n› <‹n›@‹n›.‹w›>", "‹n›: ‹s›: ‹c› (‹i›/‹i›)", "*** [‹n›:‹i›: ‹n›] Error ‹i›"),
        *("! ‹W› ‹w›: \\‹n›.", "l.‹i› ...\\‹w›{‹w›}"),
    ),
}
"""Templates of lines by notation. What stands in angle quotes is a part, or one of the leaves that Listings makes."""

_SHARES = {"c": 4, "shell": 5, "script": 3, "tex": 3, "settings": 2, "markup": 2}
"""Of the notations, where not 1."""

_REAL = 0.5
"""Share of listings that are lines of real programs, where there are any."""


class Listings:
    """Endless source of listings, each in one notation or what one command prints; half of them lines of real
    programs, where there are `sources`."""

    def __init__(self, technical: Technical, sources: Sources | None = None) -> None:
        self.technical, self.rng, self.sources = technical, technical.rng, sources
        rng = self.rng
        self.leaves: dict[str, Callable[[], str]] = {
            "w": technical.word,
            "W": lambda: technical.word().capitalize(),
            "n": self._name,
            "N": lambda: self._name().upper(),
            "i": lambda: str(rng.randint(0, 10 ** rng.choice((1, 1, 2, 2, 3, 5)))),
            "x": lambda: f"{rng.randrange(1, 1 << rng.choice((4, 8, 16, 28))):x}",
            "l": lambda: rng.choice(string.ascii_lowercase),
            "L": lambda: rng.choice(string.ascii_uppercase),
            "p": technical.path,
            "u": technical.address,
            "mark": lambda: rng.choice(_SOUP),
            "soup": self._soup,
        }
        self.shares = [_SHARES.get(name, 1) for name in NOTATIONS]
        self.outputs = (self._files, self._numbers, self._dump, self._pairs)

    def lines(self, count: int) -> list[str]:
        """A listing of at most `count` lines, none of them empty."""
        if self.sources and self.rng.random() < _REAL:
            return [line for line in self.sources.passage(count)[1] if line]
        return self.made_up(count)

    def made_up(self, count: int) -> list[str]:
        """A listing of at most `count` lines; some listings have a number or a prompt before each line."""
        rng = self.rng
        if rng.random() < 0.18:
            lines = rng.choice(self.outputs)(count)
        else:
            lines = self._nested(rng.choices(list(NOTATIONS), self.shares)[0], count)
        look = rng.random()
        if look < 0.1:
            first, step, after = rng.choice((1, 1, rng.randint(1, 900))), rng.choice((1, 1, 1, 5)), rng.choice(" :|.)")
            wide = len(str(first + step * count)) + 1
            return [f"{first + step * n:{wide}}{after} {line}" for n, line in enumerate(lines)]
        if look < 0.17:
            prompt = rng.choice((">>> ", "$ ", "# ", "> ", "% ", "+ ", "| ", "(gdb) ", "* ", "=> "))
            return [prompt + line for line in lines]
        return lines

    def _nested(self, notation: str, count: int) -> list[str]:
        """Lines of one notation, set in behind one that opens a bracket, which a line of its own closes."""
        rng, step = self.rng, self.rng.choice((2, 2, 4, 4, 8))
        lines, closing = list[str](), list[str]()
        for _ in range(count):
            if closing and rng.random() < 0.3:
                line = closing.pop() + rng.choice(("", "", ";", ",", ")", ");"))
            else:
                line = self.expanded(rng.choice(NOTATIONS[notation]))
            lines.append(" " * step * len(closing) + line)
            if len(closing) < 3 and line[-1] in _CLOSED:
                closing.append(_CLOSED[line[-1]])
        return lines

    def expanded(self, template: str, depth: int = _DEEPEST) -> str:
        """A template with its slots filled; terms are nested at most `depth` deep."""
        return _SLOT.sub(lambda slot: self._part(slot[1], depth), template)

    def _part(self, name: str, depth: int) -> str:
        leaf = self.leaves.get(name)
        if leaf is not None:
            return leaf()
        choices = _PARTS[name]
        if name in _SHALLOW:
            choices, depth = (choices, depth - 1) if depth > 0 else (_SHALLOW[name], 0)
        return self.expanded(self.rng.choice(choices), depth)

    def _name(self) -> str:
        """An identifier: words joined or capitalised, or a few letters."""
        rng, kind, word = self.rng, self.rng.random(), self.technical.word
        if kind < 0.3:
            return word()
        if kind < 0.5:
            return word()[:5] + "_" + word()[:6]
        if kind < 0.6:
            return word()[:6] + word()[:8].capitalize()
        if kind < 0.85:
            return rng.choice(string.ascii_letters) + rng.choice(("", "", rng.choice(string.digits)))
        return "".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 6))) + rng.choice(string.digits + "_")

    def _soup(self) -> str:
        """Marks in no order, between words here and there: nothing to guess."""
        rng, parts = self.rng, list[str]()
        for _ in range(rng.randint(1, 5)):
            marks = "".join(rng.choices(_SOUP, k=rng.choice((1, 1, 2, 2, 3, 4, 6))))
            parts.append(rng.choice((marks, marks + self._name(), self._name() + marks, self._name())))
        return " ".join(parts)

    # -- what commands print -------------------------------------------------------------------------------------

    def _files(self, count: int) -> list[str]:
        """Files with modes, owners, sizes and dates, in columns."""
        rng, owner, lines = self.rng, self.technical.word()[:8], list[str]()
        for _ in range(count):
            mode = rng.choice("d--l-cb") + "".join(mark if rng.random() < 0.6 else "-" for mark in "rwxr-xr-x")
            size = rng.randint(0, 10 ** rng.randint(1, 8))
            month = rng.choice("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split())
            time = rng.choice((f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}", f" {rng.randint(1995, 2030)}"))
            date = f"{month} {rng.randint(1, 31):2} {time}"
            name = self.expanded(rng.choice(("‹n›", "‹n›/", "‹n›.‹l›‹l›", "‹n› -> ‹p›")))
            lines.append(
                f"{mode} {rng.randint(1, 40):2} {owner:<8} {rng.choice((owner, 'root')):<8} {size:8} {date} {name}"
            )
        return lines

    def _numbers(self, count: int) -> list[str]:
        """Columns of numbers behind a word, held by spaces; sometimes with names above."""
        rng = self.rng
        forms = [rng.choice(("d", ".1f", ".2f", ".4f", "x", ".2e", ".1%")) for _ in range(rng.randint(2, 6))]
        wide, first = rng.randint(7, 12), rng.randint(8, 16)

        def shown(form: str) -> str:
            top = 10 ** rng.randint(1, 5)
            value = rng.randint(0, top) if form in "dx" else rng.uniform(-1, 1) * (1 if "%" in form else top)
            return f"{value:{form}}"

        rows = [[shown(form) for form in forms] for _ in range(count)]
        if rng.random() < 0.5:
            rows[0] = [self._name()[: wide - 1] for _ in forms]
        return [f"{self._name()[:first]:<{first}}" + "".join(f" {cell:>{wide}}" for cell in row) for row in rows]

    def _dump(self, count: int) -> list[str]:
        """Bytes in hexadecimal, and the same as characters."""
        rng, lines, each = self.rng, list[str](), self.rng.choice((8, 8, 16))
        start = rng.randrange(0, 1 << 16, 16)
        for number in range(min(count, 10)):
            values = [rng.randrange(256) for _ in range(each)]
            shown = "".join(chr(value) if 33 <= value < 127 else "." for value in values)
            lines.append(f"{start + number * each:08x}  {' '.join(f'{value:02x}' for value in values)}  |{shown}|")
        return lines

    def _pairs(self, count: int) -> list[str]:
        """Names, options or commands, and what they mean, in two columns."""
        rng = self.rng
        wide, mark = rng.randint(8, 22), rng.choice(("", "", ": ", "= ", "# ", "| ", "-> ", "- "))
        first = rng.choice(("‹n›", "‹f›", "‹n›(‹n›)", "\\‹w›", "$‹N›", "‹f›, ‹f›", "‹x›", "‹p›"))
        second = rng.choice(("‹c›", "‹t›", "‹s›", "‹num›", "‹o›", "(‹w›) ‹c›", "[‹n›] ‹v›"))
        return [f"{self.expanded(first):<{wide}}  {mark}{self.expanded(second)}" for _ in range(count)]
