"""Child processes that cannot outlive, hang or hurt their caller."""
