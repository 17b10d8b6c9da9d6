"""Notarisation and the disk image.

No password passes through here. notarytool takes its own from a keychain profile (`xcrun notarytool
store-credentials NAME`), or from a key file of App Store Connect.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mac_app.commands import Runner, StepFailed
from mac_app.project import NAME
from mac_app.signing import Identity

PROFILE, KEY, KEY_ID, ISSUER = (
    "LEGGIO_NOTARY_PROFILE",
    "LEGGIO_NOTARY_KEY",
    "LEGGIO_NOTARY_KEY_ID",
    "LEGGIO_NOTARY_ISSUER",
)


@dataclass(frozen=True)
class Notary:
    """How notarytool is told who asks: either a profile, or the path of a key with its id and issuer."""

    profile: str = ""
    key: str = ""
    key_id: str = ""
    issuer: str = ""

    @classmethod
    def from_environment(cls) -> Notary:
        return cls(*(os.environ.get(name, "") for name in (PROFILE, KEY, KEY_ID, ISSUER)))

    @property
    def flags(self) -> list[str]:
        if self.profile:
            return ["--keychain-profile", self.profile]
        if self.key and self.key_id and self.issuer:
            return ["--key", self.key, "--key-id", self.key_id, "--issuer", self.issuer]
        raise StepFailed(
            f"Nobody to notarise for: set {PROFILE} to a profile made with `xcrun notarytool store-credentials`, or "
            f"{KEY}, {KEY_ID} and {ISSUER} to a key of App Store Connect."
        )


def notarise(path: Path, notary: Notary, runner: Runner) -> None:
    """Sends the app (packed) or the disk image, waits for the answer, and staples the ticket to it."""
    sent = path
    flags = notary.flags
    if path.suffix == ".app":
        sent = path.with_suffix(".zip")
        runner.run(["ditto", "-c", "-k", "--keepParent", path, sent])
    runner.run(["xcrun", "notarytool", "submit", sent, *flags, "--wait"])
    runner.run(["xcrun", "stapler", "staple", path])
    runner.run(["xcrun", "stapler", "validate", path])
    kind = ["--type", "exec"] if path.suffix == ".app" else ["--type", "open", "--context", "context:primary-signature"]
    runner.run(["spctl", "--assess", *kind, "--verbose=2", path])
    if sent != path and runner.step(f"remove {sent}"):
        sent.unlink()


def disk_image(app: Path, target: Path, identity: Identity, runner: Runner) -> None:
    """A compressed, read-only image with the app and a link to /Applications, signed when somebody signs."""
    folder = target.parent / "disk-image"
    partial = target.with_name(f"partial-{target.name}")  # hdiutil insists on the ending
    runner.run(["rm", "-rf", folder, partial])
    runner.run(["mkdir", "-p", folder])
    runner.run(["ditto", app, folder / app.name])
    runner.run(["ln", "-s", "/Applications", folder / "Applications"])
    runner.run(
        ["hdiutil", "create", "-volname", NAME, "-srcfolder", folder, "-fs", "HFS+", "-format", "UDZO", "-ov", partial]
    )
    if not identity.is_ad_hoc:
        runner.run(["codesign", "--sign", identity.name, "--timestamp", partial])
    runner.run(["hdiutil", "verify", partial])
    runner.run(["mv", partial, target])
    runner.run(["rm", "-rf", folder])
