"""Hooks of mkdocs for the documentation site: what pages of docs/ name outside of docs/, and the fences of tests.

Pictures of screenshots/ become files of the site. Any other link that leaves docs/ becomes its text: the site has no
address of a repository to lead to. Where Python-Markdown reads a text otherwise than GitHub, the text is respelt
so that both show the same. A link that is written as the name of a file gets the page's title.
"""

import html
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PICTURES = "screenshots"
_LINK = re.compile(r"\[([^\]\n]*)\]\((\.\./[^)\s]+)\)")
_PAGE_LINK = re.compile(r"\[[\w./-]+\.md\]\(([\w./-]+\.md)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^(```\w+)[^\n]*(\n.*?^```$)", re.MULTILINE | re.DOTALL)
_TEXT_BEFORE_LIST = re.compile(r"^([^\s|#>-].*)\n(?=- )", re.MULTILINE)
_CODE_WITH_BAR = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")
_REMOTE_SOURCE = re.compile(r',\s*url\("?https?:[^)]*\)(?: format\([^)]*\))?')


def inside_the_site(page: str, target: str) -> bool:
    """Whether a link of a page, both as paths, leads to a page of docs/ or to a picture."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return path.startswith(("docs/", f"{PICTURES}/"))


def site_text(page: str, markdown: str) -> str:
    """The Markdown of a page as the site needs it; `page` is its path below docs/."""

    def site_link(match: re.Match[str]) -> str:
        if not inside_the_site(page, match[2].partition("#")[0]):
            return match[1]
        # docs/ is the root of the site, and the pictures lie there: one folder less to climb.
        is_picture = match[2].startswith(f"../{PICTURES}/")
        return f"[{match[1]}]({match[2].removeprefix('../') if is_picture else match[2]})"

    def titled_link(match: re.Match[str]) -> str:
        linked = ROOT / "docs" / posixpath.dirname(page) / match[1]
        title = linked.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        return f"[{title}]({match[1]}{match[2] or ''})"

    # Every third and second part of three are a fence's language, without the keys behind it, and its text.
    parts = _FENCE.split(markdown)
    parts[::3] = [_plain_markdown(_PAGE_LINK.sub(titled_link, _LINK.sub(site_link, part))) for part in parts[::3]]
    return "".join(parts)


def _plain_markdown(text: str) -> str:
    """Python-Markdown wants a blank line before a list, and shows the backslash of a bar in code."""

    def code_with_bar(match: re.Match[str]) -> str:
        return f"<code>{html.escape(match[1].replace(chr(92) + '|', '|')).replace('|', '&#124;')}</code>"

    return _CODE_WITH_BAR.sub(code_with_bar, _TEXT_BEFORE_LIST.sub(r"\1\n\n", text))


def local_picture(svg: str) -> str:
    """The picture without fonts from elsewhere: those of the reader serve."""
    return _REMOTE_SOURCE.sub("", svg)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:  # Any: mkdocs is not installed everywhere
    """Called by mkdocs for each page."""
    return site_text(page.file.src_uri, markdown)


def on_files(files: Any, *, config: Any) -> Any:  # Any: as above
    """Called by mkdocs once: adds the pictures."""
    from mkdocs.structure.files import File

    for picture in sorted((ROOT / PICTURES).glob("*.svg")):
        text = local_picture(picture.read_text(encoding="utf-8"))
        files.append(File.generated(config, f"{PICTURES}/{picture.name}", content=text))
    return files
