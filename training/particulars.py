"""What letters, forms and CVs say about people and things: names, dates, amounts, addresses, headings, set phrases.

Made up from dictionary words and numbers; the set phrases are those that everybody writes.
"""

from __future__ import annotations

from training.words import Words

_MONTHS = (
    "January February March April May June July August September October November December".split(),
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre".split(),
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
)
SUBJECTS = ("Re:", "Subject:", "Betreff:", "Oggetto:", "Objet :", "Asunto:", "Assunto:", "Betreft:", "Ref.", "")
GREETINGS = (
    *("Dear Sir or Madam", "Dear", "Sehr geehrte Damen und Herren", "Liebe", "Gentile", "Egregio", "Madame, Monsieur"),
    *("Estimado", "Caro", "Prezado", "Geachte", "Kära", "Kære", "Szanowni", "Vážení", "Tisztelt"),
)
CLOSINGS = (
    *("Yours sincerely", "Kind regards", "Best wishes", "Mit freundlichen Grüßen", "Cordiali saluti", "Atentamente"),
    *("Distinti saluti", "Cordialement", "Atenciosamente", "Met vriendelijke groet", "Med vänliga hälsningar"),
)
_FIELDS = (
    *("Name", "Date", "Nome", "Data", "Datum", "Telefon", "Phone", "E-mail", "Fax", "Customer", "Kunde", "Cliente"),
    *("Invoice no.", "Order", "Nr.", "Art.", "Total", "Subtotal", "VAT", "IVA", "MwSt.", "TVA", "Net", "Due", "From"),
    *("To", "Subject", "Cc", "Place", "Ort", "Luogo", "Indirizzo", "Address", "Adresse", "Fecha", "Summe", "IBAN"),
)
TITLES = (
    *("MEMO", "Memorandum", "Agenda", "Minutes", "Protokoll", "Verbale", "Ordine del giorno", "Compte rendu", "Notice"),
    *("Invoice", "Rechnung", "Fattura", "Facture", "Factura", "Order form", "Anmeldung", "Modulo", "Curriculum vitae"),
    *("Lebenslauf", "Avviso", "Programme", "Programm", "Report", "Price list", "Contents", "Aushang", "Quittung"),
)


class Particulars:
    """Endless source of them, from the random source of the words."""

    def __init__(self, words: Words) -> None:
        self.words, self.rng = words, words.rng

    def name(self) -> str:
        words = self.rng.choices(self.words.dictionary, k=self.rng.choice((2, 2, 3)))
        return " ".join(word[:1].upper() + word[1:] for word in words)

    def date(self) -> str:
        rng = self.rng
        day, month, year = rng.randint(1, 31), rng.randint(1, 12), rng.randint(1965, 2034)
        name = rng.choice(_MONTHS)[month - 1]
        return rng.choice(
            (
                f"{day} {name} {year}",
                f"{day}. {name} {year}",
                f"{name.capitalize()} {day}, {year}",
                f"{day:02d}.{month:02d}.{year}",
                f"{day:02d}/{month:02d}/{year}",
                f"{year}-{month:02d}-{day:02d}",
            )
        )

    def amount(self) -> str:
        rng = self.rng
        mark, point = rng.choice(((",", "."), (".", ","), ("", "."), ("", ",")))
        euros = rng.randint(0, 10 ** rng.randint(1, 5))
        whole = f"{euros:,}".replace(",", mark)
        return rng.choice(("{}", "{}", "{} €", "€ {}", "EUR {}", "${}", "£{}")).format(
            f"{whole}{point}{rng.randint(0, 99):02d}"
        )

    def price(self) -> str:
        """What goods cost, without a currency."""
        rng = self.rng
        return f"{rng.randint(0, 10 ** rng.randint(1, 3))}{rng.choice('.,,')}{rng.randint(0, 99):02d}"

    def value(self) -> str:
        rng = self.rng
        return rng.choice((self.name, self.date, self.amount, self.words.made_up, lambda: str(rng.randint(1, 99999))))()

    def short(self) -> str:
        """A value of one to three characters."""
        rng = self.rng
        number = rng.randrange(rng.choice((10, 100, 1000)))
        return rng.choice((str(number), str(number), rng.choice("ABCDEFGHIKX"), "x", "–", "ja", "no"))

    def field(self) -> str:
        rng = self.rng
        if rng.random() < 0.6:
            return rng.choice(_FIELDS)
        return " ".join(rng.choices(self.words.dictionary, k=rng.choice((1, 1, 2)))).capitalize()

    def address(self) -> list[str]:
        """Lines of an address: name, perhaps a firm, street, town, sometimes country, telephone or mail."""
        rng, town = self.rng, self.name().split()[0]
        street, number = self.name().split()[0], rng.randint(1, 299)
        code = f"{rng.randint(1000, 99999):05d}" if rng.random() < 0.7 else self.words.technical.letters().upper()
        lines = [
            self.name(),
            rng.choice(
                (f"{street} {number}", f"{number} {street} Street", f"Via {street} {number}", f"{street}, {number}")
            ),
            rng.choice((f"{code} {town}", f"{town} {code}", f"D-{code} {town}", f"{town}, {code}")),
        ]
        if rng.random() < 0.3:
            lines.insert(1, " ".join(self.words.run(3)[:3]))
        if rng.random() < 0.35:
            lines.append(
                f"{rng.choice(('Tel.', 'Tel:', 'Phone', 'T'))} +{rng.randint(1, 99)} {rng.randint(10**5, 10**9)}"
            )
        if rng.random() < 0.3:
            lines.append(
                f"{self.words.technical.word()}@{self.words.technical.word()}.{rng.choice(('org', 'eu', 'it'))}"
            )
        return lines
