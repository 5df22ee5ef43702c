"""Somebody's solver, a program of its own: python pendulum.py DECK SUBSTEPS.

It knows nothing of mflno and needs the standard library alone. The deck holds one `name value`
a line, swing.csv is what it leaves; its fidelity is the number of steps from row to row.
"""

import math
import sys


def read(name):
    with open(name, encoding="utf-8") as deck:
        rows = (line.split() for line in deck if line.strip() and not line.startswith("#"))
        return {key: float(value) for key, value in rows}


def rate(angle, speed, deck):
    return speed, -deck["stiffness"] * math.sin(angle) - deck["damping"] * speed


def moved(angle, speed, step, deck):
    """One step of the midpoint rule."""
    slopes = rate(angle, speed, deck)
    middle = rate(angle + step / 2 * slopes[0], speed + step / 2 * slopes[1], deck)
    return angle + step * middle[0], speed + step * middle[1]


def main():
    deck = read(sys.argv[1])
    points, substeps = int(deck["points"]), int(sys.argv[2])
    interval = deck["end"] / (points - 1)
    angle, speed = 2.0, 0.0
    with open("swing.csv", "w", encoding="utf-8") as out:
        out.write("time,angle\n")
        for row in range(points):
            out.write(f"{row * interval:.17g},{angle:.17g}\n")
            for _ in range(substeps):
                angle, speed = moved(angle, speed, interval / substeps, deck)
    print(f"{points} points, angle {angle:.6f} at the end")


if __name__ == "__main__":
    main()
