"""Commands that list, show, verify, fetch and build feature packs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..base.formatting import format_bytes
from .ending import print_error
from .options import HelpTexts, add_command, new_group, output_command

if TYPE_CHECKING:
    from ..bench.packs import KnownPack, Manifest
    from ..report.output import Output

PACK_OUTPUT_FORMATS = ("table", "json")
PACK_BUILDER_MODULE = "resemblance.bench.pinned"  # imported only when a pack is built


@output_command(PACK_OUTPUT_FORMATS)
def list_command(cache: Path | None = None) -> Output:
    """List the packs that this version knows, and the packs in the cache."""
    from ..bench.packs import list_packs
    from ..bench.packs.opening import cached_packs
    from ..report.output import Output
    from ..report.terminal import plain_table

    packs = {pack.identity: pack for pack in list_packs()}
    records = [_known_pack_record(pack, cache) for pack in packs.values()]
    for folder in cached_packs(cache):
        identity, _, digits = folder.name.rpartition("-")
        if identity not in packs or not packs[identity].sha256.startswith(digits):
            records.append(_cached_pack_record(folder))
    hint = "No packs yet. Download a pack with: resemblance pack get NAME@VERSION --source SOURCE"
    table = plain_table(("pack", "benchmark", "size", "about", "where"), map(_pack_row, records))
    return Output([table if records else hint], records)


def _known_pack_record(pack: KnownPack, cache: Path | None) -> dict[str, Any]:
    from ..bench.packs.opening import find_pack

    place = find_pack(pack.identity, cache=cache)
    return {"pack": pack.identity, **pack._asdict(), "place": str(place)}


def _cached_pack_record(folder: Path) -> dict[str, Any]:
    """Return the record of a cached pack that the library does not know, entries by column, from
    the manifest of the pack. ``folder``: of the pack. A damaged pack has the reason in "about"."""
    from ..bench.packs.archive import read_manifest

    record = {"pack": folder.name.rpartition("-")[0], "place": str(folder)}
    try:
        manifest = read_manifest(folder)
    except ValueError as error:
        return record | {"suite": "", "about": f"damaged: {error}"}
    entries = manifest.name, manifest.version, manifest.suite, manifest.about
    return record | dict(zip(("name", "version", "suite", "about"), entries))


def _pack_row(record: Mapping[str, Any]) -> tuple[str, ...]:
    from ..bench.packs.archive import PACK_SUFFIX

    size = format_bytes(record["size"]) if "size" in record else ""
    place = "ships with the library" if record["place"].endswith(PACK_SUFFIX) else record["place"]
    return record["pack"], record["suite"], size, record["about"], place


@output_command(PACK_OUTPUT_FORMATS)
def show_command(pack: str, cache: Path | None = None) -> Output:
    """Verify every file of a pack, then show the content and the origin of the pack."""
    from ..bench.packs import verify
    from ..report.output import Output
    from ..report.terminal import plain_table

    manifest = verify(_require_pack_path(pack, cache))
    document = manifest._asdict() | {"sha256": manifest.sha256}
    document["files"] = {name: file._asdict() for name, file in manifest.files.items()}
    table = plain_table(("", ""), _manifest_facts(manifest), header_row=False)
    return Output([manifest.identity, manifest.about, table], document)


def _manifest_facts(manifest: Manifest) -> list[tuple[str, str]]:
    arrays = sum(bool(file.dtype) for file in manifest.files.values())
    facts = {name: _format_manifest_value(value) for name, value in manifest.facts.items()}
    return [
        ("suite", manifest.suite),
        ("files", f"{len(manifest.files)}, including {arrays} arrays"),
        ("unpacked", format_bytes(manifest.size)),
        *facts.items(),
        ("versions", ", ".join(f"{name} {v}" for name, v in manifest.versions.items())),
        ("machine", manifest.machine),
        ("SHA-256", manifest.sha256),
    ]


def _format_manifest_value(value: Any) -> str:
    if isinstance(value, list | dict):
        return f"{len(value)} entries" if len(str(value)) > 60 else json.dumps(value)
    return str(value)


def verify_command(pack: str, cache: Path | None = None, quiet: bool = False) -> int:
    """Check every file of a pack against the manifest; exit with 1 for a difference."""
    from ..bench.packs import verify

    place = _require_pack_path(pack, cache)
    try:
        manifest = verify(place)
    except ValueError as error:
        return print_error(str(error), code=1)
    files = f"{len(manifest.files)} files, {format_bytes(manifest.size)}"
    if not quiet:
        print(f"{manifest.identity} is intact: {files}, SHA-256 {manifest.sha256}")
    return 0


def _require_pack_path(pack: str, cache: Path | None) -> Path:
    from ..bench.packs.opening import find_pack

    place = find_pack(pack, cache=cache)
    if place is None:
        raise ValueError(
            f"{pack} is not installed. Download the pack with: resemblance pack get {pack} "
            "--source SOURCE"
        )
    return place


def get_command(
    pack: str,
    source: list[str] | None = None,
    sha256: str | None = None,
    cache: Path | None = None,
    quiet: bool = False,
) -> None:
    """Download a pack into the cache; a pack with a wrong checksum is not unpacked."""
    from ..bench.packs import get_pack, list_packs

    if not source and pack in {entry.identity for entry in list_packs()}:
        print(f"{pack} ships with the library; nothing to download")
        return
    if not source:
        raise ValueError(f"no address of {pack} is known; give the address with --source")
    opened_pack = get_pack(pack, source, sha256=sha256, cache=cache, progress=not quiet)
    if not quiet:
        print(f"{opened_pack.manifest.identity} is in {opened_pack.folder}")


def build_command(
    suite: str,
    study: Path,
    output: Path = Path("."),
    name: str | None = None,
    version: int = 1,
    max_samples: int | None = None,
    half: bool = False,
    quiet: bool = False,
) -> None:
    """Pack the features of a study, so that other people can score measures on them."""
    from ..bench.study import purpose

    suite_name = purpose(study).suite
    if suite_name != suite:
        raise ValueError(f"{study} is a study of {suite_name}, not of {suite}")
    build = import_module(PACK_BUILDER_MODULE).build_pack
    archive, manifest = build(
        study, output, name=name, version=version, max_samples=max_samples, half=half
    )
    if not quiet:
        print(
            f"wrote {archive}: {manifest.identity}, {len(manifest.files)} files, "
            f"{format_bytes(archive.stat().st_size)}"
        )


HELP: HelpTexts = {
    "cache": "Folder for unpacked packs; default: RESEMBLANCE_CACHE, or ~/.cache/resemblance.",
    "show.pack": typer.Argument(
        metavar="PACK", help="NAME@VERSION, an archive, or an unpacked folder."
    ),
    "verify.pack": typer.Argument(
        metavar="PACK", help="NAME@VERSION, an archive, or an unpacked folder."
    ),
    "get.pack": typer.Argument(metavar="NAME@VERSION", help="The pack to download."),
    "source": typer.Option(
        help="The folder or the http(s) address of the archive, or the folder or address with the "
        "archive (repeatable: mirrors, tried in order)."
    ),
    "sha256": "The SHA-256 checksum of the archive.",
    "suite": "The benchmark of the study, such as resi.",
    "study": "The folder of a finished study.",
    "build.output": typer.Option("--output", "-o", help="Folder for the archive."),
    "name": "Name of the pack; default: the benchmark and the size.",
    "version": typer.Option(
        min=1, help="Version number; raise the number when the content changes."
    ),
    "max_samples": typer.Option(min=20, help="Largest number of samples of each model to keep."),
    "half": "Store features in half precision.",
}


commands = typer.Typer()
_pack_commands = new_group(
    "List, fetch, verify and build feature packs: the frozen features of a benchmark, so that "
    "scores are comparable.",
    "pack list",
)
for _name, _command, *_calls in (
    ("list", list_command, "pack list", "pack list --format json"),
    ("show", show_command, "pack show resi-compact", "pack show my-pack@1.tar.xz --format json"),
    ("verify", verify_command, "pack verify resi-compact", "pack verify my-pack@1.tar.xz"),
    (
        "get",
        get_command,
        "pack get resi-compact@1",
        "pack get mine@1 --source https://example.org/packs",
    ),
    ("build", build_command, "pack build resi study", "pack build resi study --name mine --half"),
):
    add_command(_pack_commands, _name, _command, *_calls, help=HELP)
commands.add_typer(_pack_commands, name="pack")
