"""What a user may import from the top."""

import mflno


def test_exported_names_resolve_and_match_the_map():
    assert set(mflno.__all__) - {"__version__"} == set(mflno._HOMES)
    for name in mflno.__all__:
        assert getattr(mflno, name) is not None
