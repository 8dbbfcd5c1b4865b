"""Words that no text for users may contain: they treat programs as persons, or replace a glossary term.

Quoted text, such as upstream's messages, is not checked. Words that also have a right use are listed with the wrong
context; a pattern cannot tell the uses of words such as `passes` and `leaves` apart.
"""

import re
from collections.abc import Iterator

_NEVER = (
    r"nobody|no one|somebody|someone|anybody|anyone|whoever|everybody|everyone|who|whom|whose|others",
    r"the present (?:one|job|event)|is not whole|in part",
    r"gets? in|got in|lets? in|keeps? out|gets what it needs|offers?|offered",
    r"gives? (?:up|away|back)|given (?:up|away|back)|lets? go|spare[sd]",
    r"take (?:its|a|their) say|ha(?:ve|s|d) a say|speaks for|outvoted",
    r"(?:pods?|victims?|tasks?) (?:that )?(?:(?:has|have|had) )?(?:leaves?|left|goes|(?:is|are) gone)",
    r"take[sn]? (?:up|back)|turns? to|puts? back|nodes? takes?|stands?",
    r"promise[sd]?|as things stand|(?:can|cannot) ever|for ?ever|falsifies",
    r"newest rules|the eve of|newer form|older form|undrawn|to chance|come(?:s)? to",
    r"where (?:they|two|the runs) part|parts? (?:them|the two|from)|fate|fares|levers?|wish(?:ed|es)?|remed(?:y|ies)",
    r"this very|in the very|come again|need not wait|told|tells?|odd|in sight|beside|aside|afresh|anew",
    r"(?-i:(?:a|one|the|this|that|each|every|same) moments?|moments)",
    r"so (?:long|many|often|large)(?! (?:as|that))|in turns?|what decides|is none of|there (?:is|are) none",
    r"(?<!there )(?<!why )is no(?= (?!longer|more|less|other|different|such))",
    r"any more|no more(?= *(?:[.,;:)]|$))|\d too few|beyond|in all(?= *(?:[.,;:)]|$))|in pieces",
    r"at the cost of|as it is",
    r"books|shut|cut off|carried out|carries out|its (?:makers|owners)|forbids?|in words|the words|looks? at|looked at",
    r"(?:recordings?|captures?) (?:is|are) kept|keeps? (?:the |a )?recordings?",
    r"an administrator's|the cluster's administrator|the job's owner|to go on|the way through|also in the way",
    r"fault of vcdebug|tier None|1 (?:pods|rows|jobs|nodes|events|queues|cycles)",
)
NEVER = re.compile(rf"(?<![\w.-])(?:{'|'.join(_NEVER)})(?![\w-])", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"\n]*"')


def never_words(text: str) -> Iterator[str]:
    """The forbidden words in a text, each with its line."""
    for line in text.splitlines():
        for found in NEVER.finditer(_QUOTED.sub('""', line)):
            yield f"{found[0]}: {line.strip()[:160]}"


def prose(page: str) -> str:
    """The prose of a Markdown page: no code, link targets or HTML."""
    return re.sub(r"```.*?```|`[^`\n]*`|\]\([^)\n]*\)|<[^>\n]+>", "", page, flags=re.DOTALL)
