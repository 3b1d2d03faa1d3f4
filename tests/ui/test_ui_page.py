"""The whole page as it is built: nothing stands in it twice."""

from collections import Counter

from fakes import FakeEngine

from specviz.ui.app import build


def test_every_id_on_the_page_is_of_one_element(tmp_path):
    page = build(FakeEngine().engine(), warm=False, traces=tmp_path)
    ids = Counter(block.elem_id for block in page.blocks.values() if block.elem_id)
    assert len(ids) > 30
    assert [name for name, times in ids.items() if times > 1] == []
