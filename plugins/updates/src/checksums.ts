const LINE = /^([0-9a-fA-F]{64})[ \t]+\*?(.+)$/

/**
 * Parses lines `SHA256 FILE`, as `sha256sum` writes them. Returns the digests in lower case by base name. Other lines are
 * ignored; a name with two different digests has none.
 */
export function parseChecksums(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const ambiguous = new Set<string>()
  for (const line of text.split(/\r?\n/)) {
    const [, digest, path] = LINE.exec(line.trim()) ?? []
    const name = path?.split(/[\\/]/).at(-1)
    if (digest === undefined || name === undefined || name === '') continue
    const known = found.get(name)
    if (known !== undefined && known !== digest.toLowerCase()) ambiguous.add(name)
    found.set(name, digest.toLowerCase())
  }
  for (const name of ambiguous) found.delete(name)
  return found
}
