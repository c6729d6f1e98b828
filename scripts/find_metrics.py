"""Train every recipe shortly and note what it logs: `python scripts/find_metrics.py [NAME ...]`.

`make_reference.py` puts what is in `logged_metrics.json` on the page of each algorithm, and the
contract suite, which trains every recipe anyway, holds the file true.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

FOUND = Path(__file__).with_name("logged_metrics.json")
# A recipe of JAX compiles its programs first.
PATIENCE_S = 900.0


def main(names: Sequence[str]) -> int:
    sys.path.insert(0, str(FOUND.parent.parent))
    from tests.contract import forked
    from tests.contract.test_recipes import flags, logged_tags, long_run

    from cleanrl_worker.recipes import RECIPES
    from mosaic.contracts.metrics import CATALOGUE

    forked.SECONDS = PATIENCE_S
    known = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    for name in names or RECIPES:
        recipe = RECIPES[name]
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder) / "run"
            with forked.launched(directory, name, *flags(recipe, **long_run(recipe))) as run:
                if run.wait() != 0:
                    raise SystemExit(run.output)
                tags = logged_tags(run.rows())
        known[name] = [tag for tag in CATALOGUE if tag in tags]
        print(f"{name}: {len(known[name])} metrics", flush=True)
        kept = {each: known[each] for each in sorted(known) if each in RECIPES}
        FOUND.write_text(json.dumps(kept, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
