"""Pages in languages that the model was not trained to read say so, also where it is sure of every letter."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from uocr import UnlimitedOCR, foreign
from uocr.document import Page
from uocr.modelfile import ModelFile
from uocr.tokenizer import Tokenizer

from tests.conftest import BUILT_IN, SAMPLES

READ = ("en", "it", "de", "es", "pt", "fr", "nl", "sv", "da", "pl", "cs", "hu")

TEXTS = {
    "Romanian": (
        "Biroul portului este deschis de la ora nouă și se închide când ultima barcă a intrat în port. Biletele "
        "se vând la bord, iar copiii care nu au împlinit șase ani nu plătesc. Pentru câini nu este nevoie de "
        "bilet, dar aceștia trebuie să fie ținuți în lesă, ca să nu sară în apă."
    ),
    "Turkish": (
        "Liman bürosu saat dokuzda açılır ve son tekne gelene kadar açık kalır. Biletler gemide satılır, altı "
        "yaşından küçük çocuklar için bir ücret alınmaz. Köpekler de ücretsiz olarak gemiye binebilir, ancak hem "
        "gemide hem iskelede tasma ile gezdirilir. Bu kural kediler için daha yeni konuldu ve çok tartışıldı."
    ),
    "Croatian or Serbian": (
        "Ured luke otvara se u devet i radi dok ne uđe posljednji brod. Karte se prodaju na brodu, a djeca koja "
        "nisu navršila šest godina ne plaćaju ništa. Psi se voze besplatno ako su na uzici, jer je već bilo onih "
        "koji su skočili u more kako bi bili prvi na obali."
    ),
    "Slovak": (
        "Kancelária prístavu je otvorená od deviatej a zatvára sa, keď pripláva posledná loď. Lístky sa predávajú "
        "na palube, deti, ktoré ešte nemajú šesť rokov, neplatia nič. Aj psy sa vozia zadarmo, ale musia byť na "
        "vôdzke, pretože už bol taký, ktorý skočil do vody, aby bol na brehu ako prvý."
    ),
    "Latvian": (
        "Ostas birojs ir atvērts no deviņiem un strādā, kamēr ierodas pēdējais kuģis. Biļetes pārdod uz kuģa, bet "
        "bērni, kas vēl nav sasnieguši sešu gadu vecumu, var braukt par velti. Arī suņi brauc par velti, ja tie "
        "ir pie pavadas, jo jau ir bijis tāds, kas ielēca ūdenī, lai krastā būtu pirmais."
    ),
    "Lithuanian": (
        "Uosto biuras atidarytas nuo devintos ir dirba iki tol, kol grįžta paskutinis laivas. Bilietai parduodami "
        "laive, o vaikai, kurie dar neturi šešerių metų, nieko nemoka. Šunys taip pat vežami nemokamai, jei jie "
        "yra su pavadėliu, nes jau buvo toks, kuris iššoko į vandenį, kad krante būtų pirmas."
    ),
}
"""A small harbour's rules."""

KNOWN = {
    "en": (
        "The harbour office opens at nine and closes when the last boat has come in. Tickets are sold on board, "
        "and children who are not yet six do not pay. Dogs travel free as well, but they must be kept on a lead, "
        "for one of them has jumped into the water to be the first on land."
    ),
    "cs": (
        "Kancelář přístavu je otevřena od devíti a zavírá, když připluje poslední loď. Lístky se prodávají na "
        "palubě, děti, kterým ještě není šest let, neplatí nic. Také psi jezdí zdarma, ale musí být na vodítku, "
        "protože už byl jeden, který skočil do vody, aby byl na břehu jako první."
    ),
    "pl": (
        "Biuro portu jest otwarte od dziewiątej i zamyka się, gdy wpłynie ostatnia łódź. Bilety są sprzedawane na "
        "pokładzie, a dzieci, które nie mają jeszcze sześciu lat, nie płacą. Psy też jeżdżą za darmo, ale muszą "
        "być na smyczy, bo był już taki, który skoczył do wody, żeby być pierwszym na brzegu."
    ),
    "es": (
        "La oficina del puerto abre a las nueve y cierra cuando ha entrado el último barco. Los billetes se "
        "venden a bordo y los niños que no tienen seis años no pagan. Los perros también viajan gratis, pero han "
        "de ir con correa, porque ya hubo uno que saltó al agua para ser el primero en llegar."
    ),
    "none": " ".join(f"--option-{n} FILE{n} 0x{n:04x} printf(stderr);" for n in range(40)),
}


def without(text: str, accents: str, letters: str) -> str:
    """`text` as a model reads it that knows none of `accents`."""
    return text.translate(str.maketrans(accents, letters))


@pytest.mark.parametrize("name", TEXTS)
def test_a_language_is_told_whatever_became_of_its_accents(name: str) -> None:
    text = TEXTS[name]
    assert foreign.language([text], READ) == name
    assert foreign.language([without(text, "ășțğışćđľŕāēģīķļņūėįųâ", "åstğisćdľraegiklnuéiüá")], READ) == name
    cells = "".join(f"<tr><td>{word}</td></tr>" for word in text.split())
    assert foreign.language(["", f"<table>{cells}</table>"], READ) == name


@pytest.mark.parametrize("code", KNOWN)
def test_a_language_that_is_read_is_never_told(code: str) -> None:
    assert foreign.language([KNOWN[code]], READ) is None
    assert foreign.language([KNOWN[code], TEXTS["Slovak"][:60]], READ) is None


def test_a_model_that_reads_a_language_is_not_told_of_it() -> None:
    assert foreign.language([TEXTS["Romanian"]], (*READ, "ro")) is None
    assert foreign.language([TEXTS["Turkish"]], (*READ, "ro")) == "Turkish"


def test_few_words_tell_no_language() -> None:
    assert foreign.language([" ".join(TEXTS["Romanian"].split()[:25])], READ) is None
    assert foreign.language([], READ) is None
    assert foreign.language(["bir ne en " * 40], READ) is None  # a table of abbreviations


def test_a_page_says_what_its_language_may_be(forced: Callable[[list[int]], None]) -> None:
    with ModelFile.open(BUILT_IN) as file:
        vocabulary = Tokenizer(file.tokenizer_json, digits=file.front_end.get("digits"))
    text = without(TEXTS["Romanian"], "ășțÎîâ", "åstIîâ")

    def read(front_end: dict[str, object]) -> Page:
        forced([*vocabulary.encode(f"<|det|>text [100, 100, 900, 400]<|/det|>{text}"), 1])
        with UnlimitedOCR() as ocr:
            ocr.front_end.update(front_end)
            return ocr.read(SAMPLES / "screenshot.png", preset="base").pages[0]

    (told,) = read({}).problems
    assert told.startswith("The text may be Romanian, which the model was not trained to read; letters may be wrong")
    assert read({"languages": [*READ, "ro"]}).problems == read({"languages": []}).problems == []
