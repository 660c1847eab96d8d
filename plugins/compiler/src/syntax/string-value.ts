const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '0': '\0',
  '\\': '\\',
  '"': '"',
  "'": "'"
}

/** Returns the value of a string literal. An unknown escape is preserved, including its backslash. */
export function stringValue(literal: string): string {
  const quote = literal[0]
  const closed = literal.length > 1 && literal.at(-1) === quote
  const inner = literal.slice(1, closed ? -1 : undefined)
  if (!inner.includes('\\')) return inner
  const parts: string[] = []
  let from = 0
  for (let at = inner.indexOf('\\'); at !== -1; at = inner.indexOf('\\', from)) {
    const replaced = ESCAPES[inner[at + 1] ?? '']
    parts.push(inner.slice(from, at), replaced ?? inner.slice(at, at + 2))
    from = at + 2
  }
  parts.push(inner.slice(from))
  return parts.join('')
}
