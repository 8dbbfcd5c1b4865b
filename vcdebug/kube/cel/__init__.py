"""The part of the Common Expression Language that selectors of devices are written in."""
