"""One file a command: `HELP`, `configure(parser)`, `run(arguments) -> exit status`."""

COMMANDS: dict[str, str] = {
    "ask": "the next cases, for runs that are made elsewhere",
    "bench": "speed, side by side with the published formulation",
    "compare": "every method on the same runs, judged by the same cases held out",
    "demo": "a whole campaign on a cheap problem, and its report",
    "middle": "what a middle level is worth, at equal cost",
    "predict": "trajectories with bands, from a campaign or a surrogate's file",
    "problems": "describe problems, the built-in ones or your own, and check them",
    "reproduce": "the paper's tables and figures, beside the paper's own",
    "run": "choose and solve expensive runs; the same line again resumes",
    "report": "one self-contained page of a campaign, and its figures as files",
    "sample": "solve many cases of one level into a file",
    "status": "how a campaign stands",
    "tell": "take runs that were made elsewhere",
}
"""Name of each command and what it does; the module of the same name does it."""
