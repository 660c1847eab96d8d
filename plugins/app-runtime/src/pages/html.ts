/** Escapes a text for HTML content and for quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

/** Returns an HTML document. `head` and `body` are markup. */
export function htmlDocument(title: string, head: readonly string[], body: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <link rel="icon" href="data:,">
    <title>${escapeHtml(title)}</title>
${head.map(each => `    ${each}\n`).join('')}  </head>
  <body>
${body}
  </body>
</html>
`
}

/** Returns the script element that reloads a page and shows problems. `build`: version of the program. */
export function devScript(build: string): string {
  return `<script type="module" src="/@svc/dev.js?build=${encodeURIComponent(build)}"></script>`
}

/** Adds an element to the head of an HTML document, or to its end if it has no head. */
export function withElement(document: string, element: string): string {
  const at = document.search(/<\/head\s*>/i)
  return at === -1 ? `${document}${element}` : `${document.slice(0, at)}${element}${document.slice(at)}`
}
