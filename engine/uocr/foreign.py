"""Whether a text is in a language that a model was not trained to read, told by the small words of the language.

A model can be as sure of a letter with a wrong accent as of a right one, so that its confidence does not tell. Small
words do: a tenth to a third of any prose is made of them. They are compared without accents, which come out wrong.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

NAMES = {
    "fi": "Finnish",
    "hr": "Croatian or Serbian",
    "is": "Icelandic",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "ro": "Romanian",
    "sk": "Slovak",
    "sl": "Slovene",
    "tr": "Turkish",
    "vi": "Vietnamese",
}
"""Languages in Latin letters that can be told, by ISO 639-1 code."""

_WORDS = {
    code: frozenset(words.split())
    for code, words in {
        "cs": "a aby ale ani az bude by byl byla bylo byt co do i jak jako je jeho jejich jen jeste jsem jsou k "
              "kde kdyz ktera ktere ktery ma muze na nebo neni o od po pod podle pokud pouze pri pro proto s se "
              "si tak take tento to u v ve vsak z za ze",
        "da": "af alle at blev da de den denne der det dette du efter eller en er et for fra han har hvis i ikke "
              "ind jeg kan med men mod nar ned nogle og om op over pa sa sig skal som til ud under var ved vi vil",
        "de": "als am an auf aus bei bis das dass dem den der des die durch ein eine einem einen einer er es fur "
              "hat ich im in ist kann konnen mit nach nicht noch nur oder sich sie sind so uber um und unter von "
              "vor war wenn werden wie wird zu zum zur",
        "en": "a all an and are as at be but by can for from has have he his i if in is it may more my no not of "
              "on one or she so that the their then there they this to was we were when which will with you your",
        "es": "a al como con de del el ella en era es esta este esto fue ha hay la las le lo los mas me muy no o "
              "para pero por que se si sin sobre son su sus tambien un una y ya",
        "fr": "a au aux avec ce cette comme d dans de des du elle en est et il ils je l la le les leur mais n ne "
              "nous on ont ou par pas plus pour qu que qui s sa se si son sont sur un une vous",
        "hu": "a ahogy aki amely ami az be csak de egy el es ez ezt fel ha hogy is itt kell ki lehet majd meg "
              "mert minden mint most nagy nem olyan s sem szerint talan tobb ugy utan vagy van volt",
        "it": "a ad al alla anche che chi come con cui da dal dei del della delle di e ed era gli ha i il in io l "
              "la le lo ma nel nella non o per piu quando questa questo se si sono su sua suo un una",
        "nl": "aan al als bij dan dat de deze die dit door een en er had heb heeft het hij ik in is je kan maar "
              "meer met naar niet nog of om onder ook op over te tot u uit van voor was wat werd wordt ze zich "
              "zijn zo zou",
        "pl": "a aby ale bez bo by byl byla bylo co czy dla do gdy i ich ja jak jako jego jej jesli jest juz "
              "ktora ktore ktory lub ma mnie moze na nie o od oraz po pod przez przy sa sie sobie tak tego ten to "
              "tylko tym u w we z za ze",
        "pt": "a ao aos as com como da das de do dos e ela ele em era essa esta este eu foi ja mais mas mesmo na "
              "nao nas no nos o os ou para pela pelo por quando que se sem ser seu sua tem um uma",
        "sv": "alla andra att av bara bli da de den det detta dig du eller en ett for fran han har hon i inte jag "
              "kan man med men mot nar och om pa sa sig sin ska skall som till under upp ut var vi vid vill",
        "fi": "ei etta han hanen he ilman ja jalkeen jo joka jonka jos jossa jotka kaikki kanssa kuin kun mika "
              "mukaan mutta myos ne niin nyt oli olisi on ovat se sen sita siten sitten tai tama tamaa tassa vain "
              "voi voidaan",
        "hr": "a ako ali bez bi bilo bio biti ce da do dok gdje i ih ili iz ja je jer jos kada kako kao koja koje "
              "koji li mogu moze na nakon ne nego nije o od oko po pod pri prije s sa sam samo se smo sto su sve "
              "svoj ta taj te to u uz vas vec za",
        "is": "a ad af allt eda ef eftir eg ekki en er eru fra fyrir ha hafa hann hefur hon hun i kom med medan "
              "og sem ser sina sinn til um undir upp var vard vera verid vid voru yfir",
        "lt": "apie ar arba bei bet bus buti buvo dar del gali i iki ir is ja jei ji jie jis jo jos jums jusu kad "
              "kai kaip kas kur kuri kurie kuris ne nera nes nuo o per po prie pries sia sis su tai taip tik uz "
              "yra",
        "lv": "ar ari bet bija bus ir izmantot ja jau jums jus ka kad kas ko kuru lai lidz nav ne nevar no pa par "
              "pec pie sis so tad tas tiek tika to tomer un uz va vai var vel",
        "ro": "a aceasta acest ai al ale am ar are asa atunci ca cand care ce cele cu cum daca de din dintre dupa "
              "ea el era este fara fi fie fiind fost in insa intr la lui mai nu o pe pentru prin sa sau se si sub "
              "sunt un unei unui va",
        "sk": "a aby aj ak ako ale alebo ani bez bol bola bolo by byt cez co do ho i iba ich je jeho k kde ked "
              "ktora ktore ktory len ma medzi moze na nad nie o od po pod podla pre preto pri s sa si so som su "
              "tak tento tiez to tu u v vo vsak z za ze",
        "sl": "a ali bi bil bila bilo biti brez da do ga ima in iz je jih jo kaj kako kar kateri ker ki ko kot "
              "lahko le med mi na nad ne ni o ob od pa po pod pred pri s sa samo se sem si so sta ta te tem ter "
              "to tudi v vec z za ze",
        "tr": "adi ama ancak ben bir birlikte bu buna bunu cok da daha de degil diger diye eger en gibi gore hem "
              "her icin iki ile ise kadar kendi ki mi mu nasil ne o olan olarak oldu olur once onun sadece sey "
              "sonra var ve veya ya yeni zaman",
        "vi": "ban bang bi cac cach cai can cho chon co con cua cung da de den di duoc gi hay khi khong la lai "
              "len mot nam nay neu ngay nguoi nhu nhung o qua ra rang sau se su thanh the thi tren trong tu va "
              "vao ve voi",
    }.items()
}
"""The most frequent words without their accents; those of all languages that a text is compared with."""

_LEAST_WORDS = 30
_SHARE = 0.1
"""Share of the words of a text that are small words of its language."""
_DIFFERENT = 6
"""So many different ones are among them: an abbreviation that is repeated makes no language."""
_AHEAD, _MORE = 1.4, 5
"""Times as many, and so many more words, than there are of any language that is read or not told."""

_LETTERS = str.maketrans({"ł": "l", "ø": "o", "ı": "i", "ß": "ss", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th"})
_TAG = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"[^\W\d_]+")


def language(texts: Iterable[str], read: Collection[str]) -> str | None:
    """The English name of the language of a page's `texts`, where it is told and none of those that are `read`.

    read: ISO 639-1 codes. None as well where there are too few words to say.
    """
    words = [_bare(word) for text in texts for word in _WORD.findall(_TAG.sub(" ", text).lower())]
    if len(words) < _LEAST_WORDS:
        return None
    counts = {code: sum(word in small for word in words) for code, small in _WORDS.items()}
    found = max(NAMES, key=lambda code: counts[code])
    others = max(count for code, count in counts.items() if code not in NAMES or code in read)
    ahead = counts[found] >= max(_SHARE * len(words), _AHEAD * others, others + _MORE)
    different = len(_WORDS[found].intersection(words))
    return NAMES[found] if ahead and different >= _DIFFERENT and found not in read else None


def _bare(word: str) -> str:
    """`word` without accents."""
    letters = unicodedata.normalize("NFKD", word.translate(_LETTERS))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
