"""A preprocessor of mdBook: links to files of the repository that are no pages become their names."""

import json
import os
import re
import sys

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def pages(items, found):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter and chapter.get("path"):
            found.add(os.path.normpath(chapter["path"]))
            pages(chapter["sub_items"], found)
    return found


def change(items, known, root):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if not chapter:
            continue
        folder = os.path.dirname(chapter.get("path") or "")

        def one(m):
            picture, text, path, anchor = m.groups()
            to = os.path.normpath(os.path.join(folder, path))
            if to in known or os.path.exists(os.path.join(root, to)):
                return m.group(0)
            name = re.sub(r"^(\.\./)+", "", os.path.normpath(path))
            return f"{text} (`{name}`)" if not picture else f"`{name}`"

        chapter["content"] = LINK.sub(one, chapter["content"])
        change(chapter["sub_items"], known, root)


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "supports":
        return
    context, book = json.load(sys.stdin)
    items = book.get("sections", book.get("items"))
    change(items, pages(items, set()), os.path.join(context["root"], "src"))
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
