"""What is swept: each combination of what param2requests lists, with param2default for the rest."""

param2requests = {
    "learning_rate": [0.05, 0.2],
    "start": [(0.0, 0.0), (5.0, -5.0)],     # slope and offset; inner collections are tuples
}

param2default = {
    "points": "noisy",
    "learning_rate": 0.1,
    "start": (0.0, 0.0),
    "num_epochs": 40,
}

# With --minimal, these over param2default.
param2debug = {
    "num_epochs": 2,
}
