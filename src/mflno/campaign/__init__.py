"""Plan, state, loop and runners of a campaign."""
