"""The driver of a terminal, which survives what a person may type or paste into it."""

from __future__ import annotations

from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """Bytes that are not UTF-8 are dropped; Textual's own reader ends at the first one and leaves the cursor hidden."""

    def run_input_thread(self) -> None:
        """Turn what the terminal sends into messages, until the screen is closed."""
        while not self.exit_event.is_set():
            try:
                super().run_input_thread()
            except UnicodeDecodeError:
                # A new reader starts with a clean decoder: only the keys of the same read are lost.
                continue
            return
