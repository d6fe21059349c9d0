"""A language model that counts words. sweep.yaml lists this folder under `source:`."""
