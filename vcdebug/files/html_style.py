"""How the HTML report looks: two palettes, one measure, tables that scroll by themselves; prints on paper too."""

from __future__ import annotations

from typing import Final

PAGE_STYLE: Final = """
:root { color-scheme: light dark; --text: #1c2024; --soft: #5b6470; --page: #ffffff; --line: #d8dde3; --tint: #f4f6f8;
  --good: #1a6b34; --bad: #b3261e; --warn: #8a5200; --accent: #0b57a4; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e7eb; --soft: #a3adb9; --page: #14171a; --line: #333a42;
  --tint: #1d2226; --good: #7ad492; --bad: #ff9d93; --warn: #f0bd6d; --accent: #8fc3ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem 4rem; background: var(--page); color: var(--text);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2.75rem 0 .75rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .5rem; overflow-wrap: anywhere; }
p, ul, blockquote, pre { margin: .6rem 0; }
p, li { max-width: 46rem; overflow-wrap: anywhere; }
a { color: var(--accent); text-underline-offset: .15em; }
a:focus-visible, summary:focus-visible, .scroll:focus-visible, pre:focus-visible { outline: 2px solid var(--accent);
  outline-offset: 2px; }
nav { margin: 1.5rem 0 0; padding: .75rem 1.25rem; background: var(--tint); border-radius: 6px; font-size: .95rem; }
nav ol { margin: 0; padding-left: 1.4rem; }
nav ol ol { list-style: none; padding-left: .25rem; }
blockquote { padding: .1rem 1rem; border-left: 3px solid var(--accent); white-space: pre-wrap; }
pre { padding: .7rem .9rem; background: var(--tint); border-radius: 6px; overflow-x: auto; }
pre, code, .lines { font-family: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace;
  font-size: .875rem; line-height: 1.5; }
.table { margin: .9rem 0 1.2rem; }
.lines { margin: .3rem 0; max-width: none; white-space: pre-wrap; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .925rem; font-variant-numeric: tabular-nums; }
p.title { text-align: left; font-weight: 600; padding: .2rem 0 .35rem; margin: 0; }
th { text-align: left; font-weight: 600; color: var(--soft); }
th, td { padding: .28rem 1.1rem .28rem 0; border-bottom: 1px solid var(--line); vertical-align: top;
  white-space: pre; }
th:first-child, td:first-child { padding-left: .4rem; }
td.text { white-space: pre-wrap; min-width: 14rem; overflow-wrap: anywhere; }
.number { text-align: right; }
tr.here > td { background: var(--tint); }
tr.here > td:first-child { box-shadow: inset 3px 0 0 var(--accent); }
summary { cursor: pointer; }
summary > h2 { display: inline-block; border: 0; margin-bottom: 0; }
.strong { font-weight: 600; }
.muted { color: var(--soft); }
.good { color: var(--good); }
.bad { color: var(--bad); }
.warn { color: var(--warn); }
.accent { color: var(--accent); font-weight: 600; }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } nav { display: none; }
  section { break-inside: auto; } tr, h2, h3 { break-inside: avoid; break-after: auto; } .scroll { overflow: visible; }
  td, th { white-space: pre-wrap; } }
"""
"""Colours reach a contrast of 4.5 to 1 on both pages; no meaning hangs on colour alone."""
