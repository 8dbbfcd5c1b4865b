"""The rules that earlier releases of Volcano have in another form, as named changes, and each release's changes."""
