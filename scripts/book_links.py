"""A hook of MkDocs: links from the book to files of the repository that are no pages become the names of these files."""

import os
import re

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown, page, config, files):
    folder = os.path.dirname(page.file.src_uri)

    def one(m):
        picture, text, path, _ = m.groups()
        to = os.path.normpath(os.path.join(folder, path))
        if not to.startswith(".."):
            return m.group(0)
        name = re.sub(r"^bench/runs/([^/]+)/README.md$", r"bench/runs/\1", to.replace("../", ""))
        if name.startswith("bench/runs/") and name.endswith(text):
            return f"`{name[len('bench/runs/'):]}`"
        return f"`{name}`" if picture or text.strip("`") == name else f"{text} (`{name}`)"

    return LINK.sub(one, markdown)
