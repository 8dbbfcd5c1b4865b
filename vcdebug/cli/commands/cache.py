"""`vcdebug cache`: lists or removes cached recordings."""

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime

from vcdebug.amount_text import count_noun
from vcdebug.cli.arguments import add_shared_options, open_cache
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output


class CacheCommand(Command):
    """Lists the cached recordings with their folder, or removes them."""

    HELP = "List or clear the cached recordings of large snapshots"
    EXAMPLES = ("cache", "cache --clear")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--clear", action="store_true", help="remove all cached recordings")
        add_shared_options(parser, "--json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        cache = open_cache()
        if cache is None:
            output.write_notice("the cache is disabled (VCDEBUG_CACHE=off)")
            return CommandOutcome.DONE
        if args.clear:
            output.write_notice(f"removed {cache.remove_all()} from {cache.folder}")
            return CommandOutcome.DONE
        entries = cache.list_entries()
        size = sum(entry.size for entry in entries)  # exact: ints
        if args.json:
            listed = [{"file": entry.path.name, "bytes": entry.size} for entry in entries]
            output.write_json({"folder": str(cache.folder), "bytes": size, "recordings": listed})
            return CommandOutcome.DONE
        output.write_text(f"{count_noun(len(entries), 'cached recording')}, {size >> 20} MB, in {cache.folder}")
        for entry in entries:
            used = datetime.fromtimestamp(entry.used, UTC)
            output.write_text(f"  {used:%Y-%m-%d %H:%M}  {entry.size >> 20:>6} MB  {entry.path.name[:16]}")
        return CommandOutcome.DONE
