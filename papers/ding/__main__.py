"""``python -m papers.ding STUDY``: run the suite, judge the claims, write the tables."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from papers.ding.claims import CLAIMS
from papers.ding.tables import leaders, published_tables
from papers.markdown import claim_lines, table_lines
from resemblance.results.claims import Claim
from resemblance.results.result import Result
from resemblance.results.sections import Table
from resemblance.suites.sensitivity.facts import FamilyFacts, SuiteFacts
from resemblance.suites.sensitivity.suite import SIZES, run

ROOT = Path(__file__).parents[2]
README = Path(__file__).parent / "README.md"
MARK = "<!-- Everything below is written by python -m papers.ding. -->\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the suite in a study, or continue there, and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m papers.ding", description=__doc__)
    parser.add_argument("study", type=Path, help="the folder of the study")
    parser.add_argument("--size", choices=list(SIZES), default="default")
    parser.add_argument(
        "--output", type=Path, help="a folder for all tables; default: the docs and the README"
    )
    options = parser.parse_args(arguments)
    result, facts = reproduced(options.study, options.size)
    write(result, facts, options.output)


def reproduced(study: Path, size: str) -> tuple[Result, SuiteFacts]:
    """Return the result of the suite with the claims of the paper judged, and its facts."""
    facts = dict[str, tuple[FamilyFacts, ...]]()

    def judge_all(by_benchmark: SuiteFacts) -> tuple[Claim, ...]:
        facts.update(by_benchmark)
        return CLAIMS["summary"](by_benchmark)

    result = run(study, size=size, claims={**CLAIMS, "summary": judge_all})
    return result, facts


def write(result: Result, facts: SuiteFacts, output: Path | None) -> None:
    """Write the tables of the documentation, and the README with all of them."""
    generated, readme = (output or ROOT / "docs" / "_generated"), README
    generated.mkdir(parents=True, exist_ok=True)
    (generated / "ding_leaders.md").write_text(table_lines(leaders(facts)), encoding="utf-8")
    (generated / "ding_claims.md").write_text(claim_lines(result.claims), encoding="utf-8")
    if output:
        readme = output / "README.md"
    head = README.read_text(encoding="utf-8").partition(MARK)[0]
    parts = [f"## Claims\n\n{claim_lines(result.claims)}", _part(leaders(facts))]
    parts += map(_part, published_tables(facts))
    readme.write_text(f"{head}{MARK}\n" + "\n".join(parts), encoding="utf-8")


def _part(table: Table) -> str:
    note = f"\n{table.note}\n" if table.note else ""
    return f"## {table.title}\n\n{table_lines(table)}{note}"


if __name__ == "__main__":
    main()
