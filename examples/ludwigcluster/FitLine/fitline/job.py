"""Fits a line to points, by gradient descent."""
from pathlib import Path

import pandas as pd


def load_points(path):
    """A line of the file is a point: x,y."""
    return [tuple(float(cell) for cell in line.split(","))
            for line in path.read_text().splitlines()]


def main(param2val):
    # Added by LudwigCluster, and now by ludwigcluster.py.
    project_path = Path(param2val["project_path"])
    save_path = Path(param2val["save_path"])

    points = load_points(project_path / "data" / f"{param2val['points']}.csv")
    slope, offset = param2val["start"]
    assert isinstance(param2val["start"], tuple)

    epochs, losses = [], []
    for epoch in range(param2val["num_epochs"]):
        errors = [slope * x + offset - y for x, y in points]
        losses.append(sum(error ** 2 for error in errors) / len(points))
        epochs.append(epoch)
        slope -= param2val["learning_rate"] * 2 * sum(
            error * x for error, (x, _) in zip(errors, points)) / len(points)
        offset -= param2val["learning_rate"] * 2 * sum(errors) / len(points)
        print(f"epoch {epoch}: loss {losses[-1]:.4f}", flush=True)

    # All that lies here is kept.
    if not save_path.exists():
        save_path.mkdir(parents=True)
    (save_path / "line.txt").write_text(f"y = {slope:.3f} x + {offset:.3f}\n")

    # What is returned becomes loss.csv and error.csv.
    loss = pd.Series(losses, index=epochs)
    loss.name = "loss"
    error = pd.Series([value ** 0.5 for value in losses], index=epochs)
    error.name = "error"
    return [loss, error]
