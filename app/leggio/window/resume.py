"""After a kill or a quit in the middle: offers to go on, brings back what was read, queues the rest."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject
from uocr.document import Page

from leggio.history.jobs import Job, remaining
from leggio.history.keeper import Keeper
from leggio.history.store import Past
from leggio.look.notice import Notice
from leggio.look.told import Told, told
from leggio.pages.items import DocumentItem, PageItem, state_of
from leggio.reading.session import Session
from leggio.settings.store import SettingsStore
from leggio.window.choice import PageChoice


class Resume(QObject):
    """Offers in `notice`; what comes back is added to the list."""

    def __init__(
        self,
        keeper: Keeper,
        session: Session,
        choice: PageChoice,
        store: SettingsStore,
        notice: Notice,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._keeper, self._session, self._choice = keeper, session, choice
        self._store, self._notice = store, notice
        self._offered: list[Job] = []
        session.thread_.resumed.connect(self._resumed)

    def offer(self, before: str = "") -> bool:
        """Ask, in the window, whether the unfinished jobs should go on; False: there are none.

        `before` is a sentence that is told in the same breath.
        """
        self._offered = self._keeper.jobs.unfinished()
        if not self._offered:
            return False
        job = self._offered[0]
        done = self._keeper.jobs.count_done(job)
        if len(self._offered) == 1:
            words = self.tr("Reading of {0} stopped after page {1} of {2}.").format(job.name, done, len(job.pages))
        else:
            words = self.tr("Reading of {0} documents did not come to its end.").format(len(self._offered))
        choices = [(self.tr("Go on"), self.go_on), (self.tr("Discard"), self.discard)]
        self._notice.tell(f"{before} {words}".strip(), "info", choices)
        return True

    def go_on(self) -> None:
        """Bring back what is done and read the rest."""
        jobs, self._offered = self._offered, []
        for job in jobs:
            self._session.thread_.resume(job, self._settings())
        self._keeper.jobs.adopt()

    def discard(self) -> None:
        """Forget the jobs; the files themselves stay."""
        jobs, self._offered = self._offered, []
        for job in jobs:
            self._session.thread_.finish_job(job)
        self._keeper.jobs.adopt()

    def _settings(self) -> dict[str, object]:
        chosen = self._store.read
        return {name: getattr(chosen, name) for name in type(chosen).__dataclass_fields__}

    def _resumed(self, job: Job, answer: list[Page] | Exception) -> None:
        if not isinstance(answer, Exception):
            self._show(job, answer)
            return
        why = told(answer, job.name)
        choices = [
            (self.tr("Read it from the start"), lambda: self._anew(job)),
            (self.tr("Discard"), lambda: self._session.thread_.finish_job(job)),
        ]
        words = self.tr("{0} cannot go on: {1}").format(job.name, why.text)
        self._notice.tell(Told(words, why.detail), "warn", choices)

    def _show(self, job: Job, done: list[Page]) -> None:
        document = DocumentItem(Path(job.input), job.name, count=max(job.pages) + 1)
        by_number = {page.index: page for page in done}
        items = []
        for number in job.pages:
            item = PageItem(document, number, rotate=int(job.rotate.get(str(number), 0)))
            page = by_number.get(number)
            if page is not None:
                item.page, item.state = page, state_of(page)
            items.append(item)
        self._keeper.resumed(document, job)
        self._choice.add(items)
        rest = set(remaining(job, done))
        self._session.read(i for i in items if i.number in rest)

    def _anew(self, job: Job) -> None:
        self._session.thread_.finish_job(job)
        self._show(job, [])

    # -- history -------------------------------------------------------------------------------------------

    def open_past(self, past: Past) -> None:
        """Show a document of the history without reading it again."""
        pages = self._keeper.history.pages(past.id)
        document = DocumentItem(past.path, past.name, count=max((p.index for p in pages), default=0) + 1)
        items = [PageItem(document, p.index, page=p, state=state_of(p)) for p in pages]
        if not past.path.exists():
            words = self.tr("{0} is no longer at its place; the text is shown without its pages.").format(past.name)
            self._notice.tell(words, "warn")
        self._choice.add(items)
        if items:
            self._choice.show(items[0])
