"""Everything that only a Mac can show, in one run and one report: `python3 packaging/mac_check`."""
