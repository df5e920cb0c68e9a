"""Half a minute of the load test: nothing fails, every generation ends or is told why not."""

import pytest

from tests.space import load

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_class_of_thirty_for_half_a_minute(tmp_path):
    seen = load.measure(0.5, tmp_path, pause=4.0)
    print(load.table(seen))
    assert not seen.errors
    assert seen.counts["finished"] >= 1
    assert set(seen.counts) <= {"finished", "refused", "told their position"}
    assert len(seen.seconds["page loaded"]) >= load.CLIENTS
    assert len(seen.seconds["trace loaded"]) >= 2 * load.CLIENTS
    # how many steps the browsers come to in half a minute is up to the machine; `load` prints it
